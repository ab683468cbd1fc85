-- A row is a released row: the ranks that its labels cover, whether each shows ends, and the hashes of what is released
-- as it is, in the order of the release.
-- Reads: printed.
select __columns__
from __printed_with_ranks__
order by printed.place
