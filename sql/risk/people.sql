-- A row is a person of the source: their ranks and the hashes of what is released as it is, in the source's order.
select {columns}
from source
{joins}
order by source.place
