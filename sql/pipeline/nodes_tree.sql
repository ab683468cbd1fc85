-- A row is a node of the stored hierarchy. NULL is one more leaf directly under the top, which then covers it too.
with missing as (
    select count(*) as nulls
    from {domain}
    where value is null
)
select
    {attribute} as attribute,
    lo,
    hi + case when parent is null then missing.nulls else 0 end as hi,
    level,
    label,
    cast(null as double) as place
from {nodes}, missing
where name = {hierarchy}
union all
select {attribute}, leaves, leaves, height - 2, null, null
from {hierarchies}, missing
where name = {hierarchy} and missing.nulls > 0
