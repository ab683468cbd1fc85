-- A row is a class, and the largest l for which its most frequent sensitive value has fewer rows than c times those of
-- the l-th most frequent and all rarer ones.
select __classes__, count(*) filter (where most < __c__ * rest - 1e-9) as reached
from (
    select
        __classes__,
        max(n) over (partition by __classes__) as most,
        sum(n) over (
            partition by __classes__ order by n desc rows between current row and unbounded following
        ) as rest
    from (__counted__)
)
group by __classes__
