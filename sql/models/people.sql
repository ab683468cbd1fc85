-- A row is a class (is_whole = 1) or a sensitive value in a class (0), and how many people have rows there. NULL is a
-- value of its own.
select {classes}, grouping(v) as is_whole, count(distinct e) as people
from (
    select {named}, {sensitive} as v, {entity} as e
    from {relation}
)
group by grouping sets (({classes}), ({classes}, v))
