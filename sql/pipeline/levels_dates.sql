-- A row is one date at one level: month, quarter, year, decade; a timestamp has its day below them.
select
    rank,
    cast(unnest(range(1, len({labels}) + 1)) as integer) as level,
    unnest({labels}) as label
from {domain}
where value is not null
