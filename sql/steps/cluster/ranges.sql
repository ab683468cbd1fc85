-- A row is one group with the smallest and largest rank of each attribute that it prints. Suppressed rows form no group.
-- Reads: clustered.
select entry.group_id as group_id, __bounds__
from (
    select unnest(answer.ranges) as entry
    from clustered
)
