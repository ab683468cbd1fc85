-- A row is one group and the center that is released for each of its attributes; suppressed rows print none.
-- Reads: members.
with groups as (
    select distinct group_id
    from members
    where group_id >= 0
)
select groups.group_id, __centers__
from __groups_with_centers__
union all
select -1, __suppressed__
