-- A row is one leaf of the hierarchy with its rank, used or not. A NULL in the column is one more leaf, the last.
select
    arg_min(label, level) as value,
    lo as rank,
    cast(null as double) as place,
    value as label
from {nodes}
where name = {hierarchy} and lo = hi
group by lo
union all
select null, leaves, null, null
from {hierarchies}
where name = {hierarchy} and exists (select 1 from tuples where {column} is null)
