-- A row is a node of the stored hierarchy. NULL is one more leaf directly under the top, which then covers it too.
with missing as (
    select count(*) as nulls
    from __domain__
    where value is null
)
select
    __attribute__ as attribute,
    lo,
    hi + case when parent is null then missing.nulls else 0 end as hi,
    level,
    label,
    cast(null as double) as place
from __nodes__, missing
where name = __hierarchy__
union all
select __attribute__, leaves, leaves, height - 2, null, null
from __hierarchies__, missing
where name = __hierarchy__ and missing.nulls > 0
