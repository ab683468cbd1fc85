-- A row is a person of the source: their ranks and the hashes of what is released unchanged, in the source's order.
-- Reads: source.
select __columns__
from __source_with_ranks__
order by source.place
