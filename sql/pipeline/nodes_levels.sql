-- A row is a node of the tree over this column's values: leaves in value order, then each level, then the top.
-- NULL is a leaf directly under the top.
with levels as (
    {levels}
),
top as (
    select coalesce(max(level), 0) + 1 as level
    from levels
)
select
    {attribute} as attribute,
    rank as lo,
    rank as hi,
    case when value is null then top.level - 1 else 0 end as level,
    label,
    cast(null as double) as place
from {domain}, top
union all
select {attribute}, min(rank), max(rank), level, label, null
from levels
group by level, label
union all
select {attribute}, 0, (select max(rank) from {domain}), top.level, '*', null
from top
