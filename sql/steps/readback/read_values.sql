-- A row is one released value or range of an attribute without a hierarchy: how many rows print it, and the share of
-- the whole range that one of them has lost. * has lost everything. Halves, because the whole may be too long for a
-- double.
-- Reads: printed.
select
    __column__ as attribute,
    label,
    rows,
    cast(__weight__ as double) as weight,
    lo,
    hi,
    ncp,
    ncp as lm,
    ncp as eloss,
    is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    select
        printed.label,
        printed.rows,
        case when printed.label = '*' then 0 else printed.first_rank end as lo,
        case when printed.label = '*' then whole.last else printed.last_rank end as hi,
        case
            when printed.label = '*' then 1
            when printed.first_rank = printed.last_rank then 0
            else coalesce((printed.last_distance / 2 - printed.first_distance / 2) / nullif(whole.half, 0), 0)
        end as ncp,
        printed.label is not distinct from '*' or printed.first is distinct from printed.last as is_modified
    from (__ends__) as printed
    cross join (
        select max(distance) / 2 - min(distance) / 2 as half, max(rank) as last
        from __domain__
    ) as whole
)
