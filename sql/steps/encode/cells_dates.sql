-- A row is one date or time and its cell: a date's first and last day, or when a time's cell begins and the next one
-- does, the place of that and how far above it the value is. Unless given, the shortest of 1, 5 and 15 seconds and
-- minutes, 1, 3, 6 and 12 hours, day, week, month, quarter, 1, 5, 10 and 100 years that is not shorter than a twentieth
-- of the span, and an hour where all values are the same; for dates a week at least. NULL has no cell.
with span as (
    select greatest(coalesce(nullif(max(place) - min(place), 0), 72000) / 86400 / 20, __shortest__) as days
    from __domain__
),
grid as (
    select coalesce(__width__, case
        when days * 86400 <= 1 then interval '1 second'
        when days * 86400 <= 5 then interval '5 seconds'
        when days * 86400 <= 15 then interval '15 seconds'
        when days * 86400 <= 60 then interval '1 minute'
        when days * 86400 <= 300 then interval '5 minutes'
        when days * 86400 <= 900 then interval '15 minutes'
        when days * 86400 <= 3600 then interval '1 hour'
        when days * 86400 <= 10800 then interval '3 hours'
        when days * 86400 <= 21600 then interval '6 hours'
        when days * 86400 <= 43200 then interval '12 hours'
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
    epoch(begin) as start,
    place - start as above
from __domain__, grid
