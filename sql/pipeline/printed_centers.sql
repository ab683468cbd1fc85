-- A row is one group and the centre that is printed for each of its attributes; suppressed rows print none.
select groups.group_id, {centers}
from (select distinct group_id from members where group_id >= 0) as groups
{joins}
union all
select -1, {suppressed}
