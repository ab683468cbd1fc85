-- A row is one value of the column with its rank in order and its place on the number line. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by __order__ nulls last) - 1 as rank,
    __position__ as place,
    cast(value as varchar) as label
from (select distinct __column__ as value from tuples)
