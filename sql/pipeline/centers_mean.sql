-- A row is one group and the mean of its numbers, NULLs left out.
select members.group_id, sum({domain}.place * members.rows) / sum(members.rows) as center
from members
join encoded on encoded.tuple = members.tuple
join {domain} on {domain}.rank = encoded.{rank} and {domain}.value is not null
group by members.group_id
