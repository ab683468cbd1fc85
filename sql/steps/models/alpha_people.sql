-- A row is a class, and the share of its people who have its most frequent sensitive value.
select
    __classes__,
    max(case when is_whole = 0 then people end) / max(case when is_whole = 1 then people end) as reached
from (__people__)
group by __classes__
