-- A row is a class, and the largest |ln(share there / share of the table)| of a sensitive value; infinity where the
-- class lacks one.
select
    __classes__,
    case
        when count(*) < any_value(all_values) then 'infinity'::double
        else max(abs(ln(share / expected)))
    end as reached
from (
    select *, max(place) over () as all_values
    from (
        select *, dense_rank() over (order by v) as place
        from (__shares__)
    )
)
group by __classes__
