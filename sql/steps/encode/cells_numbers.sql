-- A row is one number, where its cell begins and the next one does, with 15 digits, and how far above that it is. Unless
-- given, a cell is 1, 2 or 5 · 10ⁿ wide, about a twentieth of the span; never so narrow that 15 digits cannot tell cells
-- apart. NULL has no cell.
with span as (
    select
        max(abs(place)) / 1e13 as narrowest,
        greatest(
            narrowest,
            coalesce(nullif(max(place) / 20 - min(place) / 20, 0), nullif(abs(max(place)) / 20, 0), 1)
        ) as twentieth,
        power(10, floor(log10(twentieth))) as unit
    from __domain__
),
grid as (
    select greatest(narrowest, coalesce(__width__, unit * case
        when twentieth <= unit then 1
        when twentieth <= 2 * unit then 2
        when twentieth <= 5 * unit then 5
        else 10
    end)) as width
    from span
),
divided as (
    select rank, place, width, floor(place / width) as guess
    from __domain__, grid
),
placed as (
    select
        rank,
        place,
        width,
        case
            when place >= cast(printf('%.15g', (guess + 1) * width) as double) then guess + 1
            when place < cast(printf('%.15g', guess * width) as double) then guess - 1
            else guess
        end as cell
    from divided
)
select
    rank,
    printf('%.15g', cell * width) as first,
    printf('%.15g', (cell + 1) * width) as last,
    greatest(-1.7e308, least(1.7e308, cell * width)) as start,
    place - start as above
from placed
