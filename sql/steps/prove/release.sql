-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select __columns__
from released, __proofs__
where __promise_holds__
order by sqlanon_shuffle(proof.smallest)
