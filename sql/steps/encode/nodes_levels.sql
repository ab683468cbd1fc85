-- A row is a node of the tree over this column's values: leaves in value order, then each level, then the top.
-- NULL is a leaf directly under the top.
with levels as (
    __levels__
),
top as (
    select coalesce(max(level), 0) + 1 as level
    from levels
)
select
    __attribute__ as attribute,
    rank as lo,
    rank as hi,
    case when value is null then top.level - 1 else 0 end as level,
    label,
    cast(null as double) as place
from __domain__, top
union all
select __attribute__, min(rank), max(rank), level, label, null
from levels
group by level, label
union all
select __attribute__, 0, (select max(rank) from __domain__), top.level, '*', null
from top
