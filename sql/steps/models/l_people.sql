-- A row is a class, and its people / those of them who have its most frequent sensitive value.
select
    __classes__,
    max(case when is_whole = 1 then people end) / max(case when is_whole = 0 then people end) as reached
from (__people__)
group by __classes__
