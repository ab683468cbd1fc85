-- A row is one group and what is released for each of its attributes; suppressed rows have * everywhere.
-- Reads: ranges.
select ranges.group_id, __labels__
from __ranges_with_labels__
union all
select -1, __suppressed__
