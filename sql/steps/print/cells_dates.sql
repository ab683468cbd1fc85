-- A row is one date or time and its cell: a date's first and last day, or when a time's cell begins and the next one
-- does, and the place of that. Unless given, the shortest of hour, day, week, month, quarter, 1, 5, 10 and 100 years that is not shorter than a
-- twentieth of the span; for dates a week at least. NULL has no cell.
with span as (
    select greatest((max(place) - min(place)) / 86400 / 20, __shortest__) as days
    from __domain__
),
grid as (
    select coalesce(__width__, case
        when days <= 1.0 / 24 then interval '1 hour'
        when days <= 1 then interval '1 day'
        when days <= 7 then interval '7 days'
        when days <= 30 then interval '1 month'
        when days <= 91 then interval '3 months'
        when days <= 365 then interval '1 year'
        when days <= 1826 then interval '5 years'
        when days <= 3652 then interval '10 years'
        else interval '100 years'
    end) as width
    from span
)
select
    rank,
    time_bucket(width, value) as begin,
    begin + width as next,
    cast(begin as varchar) as first,
    cast(__last__ as varchar) as last,
    epoch(begin) as at
from __domain__, grid
