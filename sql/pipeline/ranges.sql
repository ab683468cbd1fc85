-- A row is one group with the smallest and largest rank of each attribute. Suppressed rows form no group.
select
    members.group_id,
    {bounds}
from members
join encoded on encoded.tuple = members.tuple
where members.group_id >= 0
group by members.group_id
