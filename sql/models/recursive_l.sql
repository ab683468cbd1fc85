-- A row is a class, and the largest l for which its most frequent sensitive value has fewer rows than c times those of
-- the l-th most frequent and all rarer ones.
select {classes}, count(*) filter (where most < {c} * rest - 1e-9) as reached
from (
    select
        {classes},
        max(n) over (partition by {classes}) as most,
        sum(n) over (
            partition by {classes} order by n desc rows between current row and unbounded following
        ) as rest
    from ({counted})
)
group by {classes}
