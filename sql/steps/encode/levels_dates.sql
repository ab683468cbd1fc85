-- A row is one date at one level: month, quarter, year, decade; a timestamp has its day below them.
select
    rank,
    cast(unnest(range(1, len(__labels__) + 1)) as integer) as level,
    unnest(__labels__) as label
from __domain__
where value is not null
