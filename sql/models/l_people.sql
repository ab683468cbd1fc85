-- A row is a class, and its people / those of them who have its most frequent sensitive value.
select
    {classes},
    max(case when is_whole = 1 then people end) / max(case when is_whole = 0 then people end) as reached
from ({people})
group by {classes}
