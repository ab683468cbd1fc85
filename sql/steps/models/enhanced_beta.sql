-- A row is a class, and the most that a sensitive value's share gains there, relative to its share of the table;
-- infinity where one gains more than -ln of the latter, which no beta allows.
select
    __classes__,
    case
        when max(share / expected - 1 + ln(expected)) > 1e-9 then 'infinity'::double
        else max(share / expected) - 1
    end as reached
from (__shares__)
group by __classes__
