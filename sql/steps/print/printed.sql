-- A row is one group and what is printed for each of its attributes; suppressed rows print * everywhere.
-- Reads: ranges.
select ranges.group_id, __labels__
from __ranges_with_labels__
union all
select -1, __suppressed__
