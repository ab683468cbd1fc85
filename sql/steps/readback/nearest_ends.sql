-- The same, where an end of a range that is nobody's value counts as the nearest one inside.
select
    ends.* replace (
        coalesce(first_rank, above.rank) as first_rank,
        coalesce(first_distance, above.distance) as first_distance,
        case
            when first_rank is null and above.rank > coalesce(last_rank, below.rank) then null
            else coalesce(last_rank, below.rank)
        end as last_rank,
        coalesce(last_distance, below.distance) as last_distance
    )
from (
    select
        ends.*,
        case when label like '[%]' then __first__ end as first_place,
        case when label like '[%]' then __last__ end as last_place
    from (__ends__) as ends, (select min(value) as origin from __domain__)
) as ends
asof left join (select rank, distance from __domain__ where distance is not null) as above
    on above.distance >= ends.first_place
asof left join (select rank, distance from __domain__ where distance is not null) as below
    on below.distance <= ends.last_place
