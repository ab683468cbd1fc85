-- A row is a column: how many values a sample of it has, and how many of them have what every identifier of
-- looks_like.sql has: an @, a colon or a space, or a digit or hyphen among seven characters or more. That is asked first,
-- because it takes a fraction of the time and most columns have few such values.
select
    number,
    count(*) as total,
    count(*) filter (where
        regexp_matches(value, '[@: ]') or length(value) >= 7 and regexp_matches(value, '[0-9-]')
    ) as likely
from (__values__)
group by number
