-- A row is one number at one level: the interval of that level's width that holds it, cut where coding begins.
-- Floating point may put a number on the wrong side of a bound: the place is corrected once, on the narrowest
-- width, and wider intervals count in whole narrow ones, so that levels always nest.
with divided as (
    select rank, value, floor((value - {anchor}) / {narrowest}) as guess
    from {domain}
    where value is not null
),
placed as (
    select
        rank,
        value,
        case
            when value >= {anchor} + (guess + 1) * {narrowest} then guess + 1
            when value < {anchor} + guess * {narrowest} then guess - 1
            else guess
        end as place
    from divided
),
steps as (
    select unnest({ratios}) as ratio, unnest(range(1, len({ratios}) + 1)) as level
),
bounded as (
    select
        rank,
        value,
        level,
        greatest({anchor} + floor(place / ratio) * ratio * {narrowest}, {below}) as low,
        least({anchor} + (floor(place / ratio) + 1) * ratio * {narrowest}, {above}) as high
    from placed, steps
)
select
    rank,
    cast(level as integer) as level,
    case
        when value < {below} then '<' || {below_text}
        when value >= {above} then '>=' || {above_text}
        when {is_whole} and high - low <= 1 then cast(cast(low as hugeint) as varchar)
        when {is_whole} then '[' || cast(low as hugeint) || '-' || (cast(high as hugeint) - 1) || ']'
        else '[' || printf('%g', low) || '-' || printf('%g', high) || ')'
    end as label
from bounded
