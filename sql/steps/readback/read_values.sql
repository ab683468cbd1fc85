-- A row is one released value or range of an attribute without a hierarchy: how many rows print it, and the share of
-- the whole range that one of them has lost. * has lost everything. An end that is nobody's value counts as the nearest
-- one inside if it has a place. Halves, because the whole may be too long for a double.
-- Reads: printed.
select
    __column__ as attribute,
    printed.label,
    printed.rows,
    cast(__weight__ as double) as weight,
    case when printed.label = '*' then 0 else coalesce(first.rank, above.rank) end as lo,
    case
        when printed.label = '*' then whole.last
        when first.rank is null and above.rank > coalesce(last.rank, below.rank) then null
        else coalesce(last.rank, below.rank)
    end as hi,
    case
        when printed.label = '*' then 1
        when lo = hi then 0
        else coalesce(
            (coalesce(last.distance, below.distance) / 2 - coalesce(first.distance, above.distance) / 2)
            / nullif(whole.half, 0),
            0
        )
    end as ncp,
    ncp as lm,
    ncp as eloss,
    printed.label is not distinct from '*' or printed.first is distinct from printed.last as is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    select
        label,
        rows,
        first,
        last,
        case when label like '[%]' then __first__ end as first_place,
        case when label like '[%]' then __last__ end as last_place
    from (
        select
            __label__ as label,
            case when label like '[%]' then regexp_extract(label, __pattern__, 1) else label end as first,
            case when label like '[%]' then regexp_extract(label, __pattern__, 2) else label end as last,
            count(*) as rows
        from printed
        group by all
    ), (select min(value) as origin from __domain__)
) as printed
cross join (
    select max(distance) / 2 - min(distance) / 2 as half, max(rank) as last
    from __domain__
) as whole
left join __domain__ as first on first.label is not distinct from printed.first
left join __domain__ as last on last.label is not distinct from printed.last
asof left join (select rank, distance from __domain__ where distance is not null) as above
    on above.distance >= printed.first_place
asof left join (select rank, distance from __domain__ where distance is not null) as below
    on below.distance <= printed.last_place
