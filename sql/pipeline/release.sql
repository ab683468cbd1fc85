-- A row is a row of the release, in an order that tells nothing; an error instead if the printed classes break k.
select released.*
from released, proof
where case
    when proof.smallest >= {k} then true
    else error('A printed class holds only ' || proof.smallest || ' rows, k is {k}: nothing is released.')
end
order by sqlanon_shuffle(proof.smallest)
