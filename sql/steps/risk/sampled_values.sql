-- A row is one value that a sample of a column has. NULL and empty text are no values.
select distinct entry.number, trim(entry.value) as value
from (
    select unnest([__entries__]) as entry
    from (select __columns__ from __source__ using sample __sample__ rows (reservoir, 1))
)
where trim(entry.value) <> ''
