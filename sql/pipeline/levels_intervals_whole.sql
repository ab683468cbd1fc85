-- A row is one whole number at one level: the interval of that level's width that holds it, cut where coding begins.
with steps as (
    select unnest({widths}) as width, unnest(range(1, len({widths}) + 1)) as level
),
placed as (
    select
        rank,
        level,
        cast(value as hugeint) as number,
        number - ((number - {anchor}) % width + width) % width as floor,
        greatest(floor, {below}) as low,
        least(floor + width, {above}) - 1 as high
    from {domain}, steps
    where value is not null
)
select
    rank,
    cast(level as integer) as level,
    case
        when number < {below} then '<' || {below}
        when number >= {above} then '>=' || {above}
        when low = high then cast(low as varchar)
        else '[' || low || '-' || high || ']'
    end as label
from placed
