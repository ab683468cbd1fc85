-- A row is a row of the release: released labels and the columns that are kept.
-- Reads: assigned, printed.
select __columns__
from assigned
join printed on printed.group_id = assigned.group_id
