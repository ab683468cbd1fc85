-- A row is one group and the mean of its numbers, NULLs left out.
-- Reads: encoded, members.
select members.group_id, sum(__domain__.place * members.rows) / sum(members.rows) as center
from members
join encoded on encoded.tuple = members.tuple
join __domain__ on __domain__.rank = encoded.__rank__ and __domain__.value is not null
group by members.group_id
