-- A row is a class (is_whole = 1) or a sensitive value in a class (0), and how many people have rows there. NULL is a
-- value of its own.
select __classes__, grouping(v) as is_whole, count(distinct e) as people
from (
    select __named__, __sensitive__ as v, __entity__ as e
    from __relation__
)
group by grouping sets ((__classes__), (__classes__, v))
