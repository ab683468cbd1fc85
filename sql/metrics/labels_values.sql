-- A row is one printed value or range of an attribute without a hierarchy: how many rows print it, and the share of
-- the whole range that one of them has lost. * has lost everything. Halves, because the whole may be too long for a
-- double.
select
    {column} as attribute,
    printed.label,
    printed.rows,
    cast({weight} as double) as weight,
    case when printed.label = '*' then 0 else first.rank end as lo,
    case when printed.label = '*' then whole.last else last.rank end as hi,
    case
        when printed.label = '*' then 1
        when first.rank = last.rank then 0
        else coalesce((last.place / 2 - first.place / 2) / nullif(whole.half, 0), 0)
    end as ncp,
    ncp as lm,
    ncp as eloss,
    printed.label is not distinct from '*' or first.rank is distinct from last.rank as is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    select
        {label} as label,
        case when label like '[%]' then regexp_extract(label, {pattern}, 1) else label end as first,
        case when label like '[%]' then regexp_extract(label, {pattern}, 2) else label end as last,
        count(*) as rows
    from printed
    group by all
) as printed
cross join (
    select max(place) / 2 - min(place) / 2 as half, max(rank) as last
    from {domain}
) as whole
left join {domain} as first on first.label is not distinct from printed.first
left join {domain} as last on last.label is not distinct from printed.last
