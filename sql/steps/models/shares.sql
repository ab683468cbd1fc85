-- A row is a sensitive value in a class: its share there and in the whole table.
select
    __classes__,
    v,
    n / sum(n) over (partition by __classes__) as share,
    sum(n) over (partition by v) / sum(n) over () as expected
from (__counted__)
