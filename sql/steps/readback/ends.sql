-- A row is one released value or range, the texts of its two ends and which values they are: none, if they are nobody's.
-- Reads: printed.
select
    printed.*,
    first.rank as first_rank,
    first.distance as first_distance,
    last.rank as last_rank,
    last.distance as last_distance
from (
    select
        __label__ as label,
        case when label like '[%]' then regexp_extract(label, __pattern__, 1) else label end as first,
        case when label like '[%]' then regexp_extract(label, __pattern__, 2) else label end as last,
        count(*) as rows
    from printed
    group by all
) as printed
left join __domain__ as first on first.label is not distinct from printed.first
left join __domain__ as last on last.label is not distinct from printed.last
