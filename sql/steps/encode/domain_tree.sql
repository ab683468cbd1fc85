-- A row is one leaf of the hierarchy with its rank, used or not. A NULL in the column is one more leaf, the last.
-- Reads: tuples.
select
    arg_min(label, level) as value,
    lo as rank,
    cast(null as double) as place,
    value as label
from __nodes__
where name = __hierarchy__ and lo = hi
group by lo
union all
select null, leaves, null, null
from __hierarchies__
where name = __hierarchy__ and exists (select 1 from tuples where __column__ is null)
