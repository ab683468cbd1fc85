-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by __order__ nulls last) - 1 as rank,
    __position__ as place,
    __distance__ as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct __column__ as value from tuples)
)
