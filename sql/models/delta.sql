-- A row is a class, and the largest |ln(share there / share of the table)| of a sensitive value; infinity where the
-- class lacks one.
select
    {classes},
    case
        when count(*) < any_value(all_values) then 'infinity'::double
        else max(abs(ln(share / expected)))
    end as reached
from (
    select *, max(place) over () as all_values
    from (
        select *, dense_rank() over (order by v) as place
        from ({shares})
    )
)
group by {classes}
