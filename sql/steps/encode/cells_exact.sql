-- A row is one value, counted in the smallest units that its type has, and its cell: the text of its first and its last
-- one, or of where the next one begins, its place above the first cell of all and how far above it the value is. Unless
-- given, a cell is 1, 2 or 5 · 10ⁿ units wide, about a twentieth of the span and 2 at least. Whatever the number of digits,
-- all of it is exact. A cell ends where its type does. NULL has no cell.
with span as (
    select
        coalesce(
            nullif((max(distance) - min(distance)) * __units__ / 20, 0), nullif(abs(max(place)) * __units__ / 20, 0), 1
        ) as twentieth,
        greatest(0, cast(floor(log10(twentieth)) as integer)) as digits,
        twentieth / power(10, digits) as first_digits
    from __domain__
),
grid as (
    select coalesce(cast(__width__ as hugeint), greatest(2, cast(rpad('1', digits + 1, '0') as hugeint) * case
        when first_digits <= 1 then 1
        when first_digits <= 2 then 2
        when first_digits <= 5 then 5
        else 10
    end)) as width
    from span
),
counted as (
    select rank, __number__ as number, width, (number % width + width) % width as above
    from __domain__, grid
),
begun as (
    select
        rank,
        width,
        above,
        coalesce(try(number - above), -170141183460469231731687303715884105728) as floor
    from counted
    where number is not null
),
ended as (
    select
        rank,
        above,
        floor,
        coalesce(try(floor + (width - __is_closed__)), 170141183460469231731687303715884105727) as ceiling,
        min(floor) over () as lowest
    from begun
)
select
    rank,
    __first__ as first,
    __last__ as last,
    coalesce(try(cast(floor - lowest as double)), cast(floor as double) - cast(lowest as double)) / __units__ as start,
    cast(above as double) / __units__ as above
from ended
union all
select rank, null, null, null, null
from counted
where number is null
