-- A row is one value of the column with its rank in order and its place on the number line. NULL comes last.
select
    value,
    row_number() over (order by {order} nulls last) - 1 as rank,
    {position} as place,
    cast(value as varchar) as label
from (select distinct {column} as value from tuples)
