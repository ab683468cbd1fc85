-- A row is one group and what is printed for each of its attributes; suppressed rows print * everywhere.
select ranges.group_id, {labels}
from ranges
{joins}
union all
select -1, {suppressed}
