-- A row is one whole number and the first and the last one of its cell. Unless given, a cell is 1, 2 or 5 · 10ⁿ wide,
-- about a twentieth of the span and 2 at least. NULL has no cell.
with span as (
    select
        coalesce(nullif(max(distance) / 20, 0), nullif(abs(max(place)) / 20, 0), 1) as twentieth,
        power(10, floor(log10(twentieth))) as unit
    from __domain__
),
grid as (
    select cast(coalesce(__width__, greatest(2, unit * case
        when twentieth <= unit then 1
        when twentieth <= 2 * unit then 2
        when twentieth <= 5 * unit then 5
        else 10
    end)) as hugeint) as width
    from span
)
select
    rank,
    cast(value as hugeint) as number,
    number - (number % width + width) % width as floor,
    cast(floor as varchar) as first,
    cast(floor + width - 1 as varchar) as last,
    cast(floor - min(floor) over () as double) as at
from __domain__, grid
