-- A row is one group with the smallest and largest rank of each attribute that it prints. Suppressed rows form no group.
select entry.group_id as group_id, {bounds}
from (
    select unnest(answer.ranges) as entry
    from clustered
)
