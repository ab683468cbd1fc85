-- A row is one printed value or range of an attribute without a hierarchy: how many rows print it, and the share of
-- the whole range that one of them has lost. * and a pair of NULLs have lost everything.
select
    {column} as attribute,
    printed.label,
    printed.rows,
    cast({weight} as double) as weight,
    case
        when printed.label = '*' then 1
        when first.rank is null or last.rank is null then null
        when first.rank = last.rank then 0
        else coalesce((last.place - first.place) / nullif(whole.longest, 0), 0)
    end as ncp,
    ncp as lm,
    ncp as eloss,
    first.rank is distinct from last.rank or printed.label is not distinct from '*' as is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    {printed}
) as printed
cross join (
    select max(place) - min(place) as longest
    from {domain}
) as whole
left join {domain} as first on first.label is not distinct from printed.first
left join {domain} as last on last.label is not distinct from printed.last
