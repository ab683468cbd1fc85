-- A row is a row of the release, in an order that tells nothing; an error instead if the printed classes break a promise.
select released.*
from released, proof{diversities}
where case
    when proof.smallest < {k} then
        error('A printed class holds only ' || proof.smallest || ' rows, k is {k}: nothing is released.')
    {conditions}
    else true
end
order by sqlanon_shuffle(proof.smallest)
