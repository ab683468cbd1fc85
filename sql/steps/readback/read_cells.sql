-- A row is one released cell or range of cells of an attribute without a hierarchy: how many rows print it, and the
-- share of the whole range that one of them has lost. What lies beyond the values is not counted, so nothing loses more
-- than *, which has lost everything.
-- Reads: printed.
select
    __column__ as attribute,
    printed.label,
    printed.rows,
    cast(__weight__ as double) as weight,
    case when printed.label is null then whole.missing when printed.label = '*' then 0 else first.rank end as lo,
    case
        when printed.label is null then whole.missing
        when printed.label = '*' then whole.last
        when first.rank > last.rank then null
        when printed.label like '%)' and last.distance = printed.last then nullif(last.rank - 1, first.rank - 1)
        else last.rank
    end as hi,
    case
        when printed.label = '*' then 1
        else coalesce(
            (least(printed.last, whole.largest) / 2 - greatest(printed.first, whole.smallest) / 2)
            / nullif(whole.largest / 2 - whole.smallest / 2, 0),
            0
        )
    end as ncp,
    ncp as lm,
    ncp as eloss,
    coalesce(printed.label = '*' or printed.label like '[%', false) as is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    select label, rows, __first__ as first, __last__ as last
    from (
        select
            __label__ as label,
            case when label like '[%' then regexp_extract(label, __pattern__, 1) else label end as first_text,
            case when label like '[%' then regexp_extract(label, __pattern__, 2) else label end as last_text,
            count(*) as rows
        from printed
        group by all
    ), (select min(value) as origin from __domain__)
) as printed
cross join (
    select
        min(distance) as smallest,
        max(distance) as largest,
        max(rank) as last,
        max(rank) filter (where value is null) as missing
    from __domain__
) as whole
asof left join (select rank, distance from __domain__ where distance is not null) as first
    on first.distance >= printed.first
asof left join (select rank, distance from __domain__ where distance is not null) as last
    on last.distance <= printed.last
