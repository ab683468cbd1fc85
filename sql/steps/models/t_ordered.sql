-- A row is a class, and the earth mover's distance of its sensitive values to the table's, values being in a row and
-- NULL the last: the area between the cumulative shares. From one value of a class to the next its own share stays and
-- the table's rises, so that the area is two pieces, before and after they meet, of sums that are known for the table.
with counted as materialized (
    __counted__
),
line as materialized (
    select v, place, upto, coalesce(sum(upto) over (order by place rows unbounded preceding) - upto, 0) as area
    from (
        select
            v,
            row_number() over (order by v nulls last) - 1 as place,
            sum(held) over (order by v nulls last rows unbounded preceding) / sum(held) over () as upto
        from (
            select v, sum(n) as held
            from counted
            group by v
        )
    )
),
ends as (
    select max(place) + 1 as place, sum(upto) as area
    from line
),
steps as (
    select
        __classes__,
        line.place,
        line.area,
        sum(n) over before / sum(n) over (partition by __classes__) as share,
        lag(line.place) over before is null as is_first,
        coalesce(lead(line.place) over before, ends.place) as next_place,
        coalesce(lead(line.area) over before, ends.area) as next_area
    from counted
    join line on line.v is not distinct from counted.v, ends
    window before as (partition by __classes__ order by line.place rows unbounded preceding)
),
met as (
    select
        steps.*,
        case
            when below.place is null or below.place < steps.place then struct_pack(place := steps.place, area := steps.area)
            when below.place >= next_place then struct_pack(place := next_place, area := next_area)
            else struct_pack(place := below.place + 1, area := below.area + below.upto)
        end as meet
    from steps
    asof left join line as below on below.upto < steps.share
)
select
    __classes__,
    round(
        sum(
            share * (2 * meet.place - place - next_place) - 2 * meet.area + area + next_area
            + case when is_first then area else 0 end
        ) / greatest((select max(place) from line), 1),
        10
    ) as reached
from met
group by __classes__
