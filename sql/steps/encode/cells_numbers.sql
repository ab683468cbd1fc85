-- A row is one number, where its cell begins and the next one does, and how far above that it is. Unless given, a cell is
-- 1, 2 or 5 · 10ⁿ wide, about a twentieth of the span; never so narrow that the numbers' own digits cannot tell cells
-- apart. Its ends have 15 digits, or as many more as tell cells apart: then ends are counted in units of 10ⁿ, and
-- places begin at the smallest number. A number is in a cell if it is what the text of its ends says. NULL has
-- no cell.
with span as (
    select
        max(abs(place)) as largest,
        min(place) as smallest,
        greatest(
            largest / 4e15,
            coalesce(nullif(max(place) / 20 - min(place) / 20, 0), nullif(abs(max(place)) / 20, 0), 1)
        ) as twentieth,
        floor(log10(twentieth)) as exponent,
        power(10, exponent) as unit
    from __domain__
),
drawn as (
    select *, case
        when twentieth <= unit then 1
        when twentieth <= 2 * unit then 2
        when twentieth <= 5 * unit then 5
        else 10
    end as digits
    from span
),
grid as (
    select
        exponent,
        digits,
        __width__ is null and digits * unit < largest / 1e13 as is_fine,
        case when is_fine then digits * unit else greatest(largest / 1e13, coalesce(__width__, digits * unit)) end as width,
        case when is_fine then floor(smallest / width) else 0 end as origin,
        case when exponent between -30 and -1 then cast(rpad('1', cast(1 - exponent as integer), '0') as hugeint) end as one
    from drawn
),
edged as (
    select
        rank,
        place,
        width,
        is_fine,
        origin,
        floor(place / width) as guess,
        list_transform([guess - 1, guess, guess + 1, guess + 2], lambda cell: case
            when not is_fine then printf('%.15g', cell * width)
            when exponent between 0 and 6 then cast(cast(cell as hugeint) * digits * cast(power(10, exponent) as integer) as varchar)
            when exponent between -30 and -1 then if(cell < 0, '-', '') || rtrim(rtrim(
                cast((cast(abs(cell) as hugeint) * digits) // one as varchar) || '.'
                    || lpad(cast((cast(abs(cell) as hugeint) * digits) % one as varchar), cast(-exponent as integer), '0'),
                '0'
            ), '.')
            else cast(cast(cell as hugeint) * digits as varchar) || 'e' || cast(cast(exponent as integer) as varchar)
        end) as edges,
        len(list_filter(edges, lambda edge: cast(edge as double) <= place)) as below
    from __domain__, grid
)
select
    rank,
    edges[below] as first,
    edges[below + 1] as last,
    greatest(-1.7e308, least(1.7e308, (guess - 2 + below - origin) * width)) as start,
    place - case when is_fine then cast(first as double) else start end as above
from edged
