-- A row is a row of the release: its values as they are, its group, and the sensitive values of the group.
-- Reads: assigned, listed.
select __columns__
from assigned
join listed on listed.group_id = assigned.group_id
