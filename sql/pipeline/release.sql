-- A row is a row of the release, in an order that tells nothing; an error instead if what is printed breaks a promise.
select {columns}
from released, proof{models}
where case
    {conditions}
    else true
end
order by sqlanon_shuffle(proof.smallest)
