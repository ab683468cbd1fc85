-- A row is one time and its cell: of the calendar, or of a second's digits where all values are within twenty seconds
-- of each other.
with spread as (
    select coalesce(max(distance) - min(distance), 0) as seconds
    from __domain__
)
select rank, first, last, start, above
from (__calendar__), spread
where seconds = 0 or seconds >= 20
union all
select rank, first, last, start, above
from (__fine__), spread
where seconds > 0 and seconds < 20
