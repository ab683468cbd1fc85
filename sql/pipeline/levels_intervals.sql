-- A row is one number at one level: the interval of that level's width that holds it, cut where coding begins. Numbers
-- and bounds are compared as they are printed, so that a label always holds its numbers; wider intervals count in whole
-- narrow ones, so that levels always nest.
with divided as (
    select rank, cast(cast(value as varchar) as double) as number, floor((number - {anchor}) / {narrowest}) as guess
    from {domain}
    where value is not null
),
placed as (
    select
        rank,
        number,
        case
            when number >= cast(printf('%.15g', {anchor} + (guess + 1) * {narrowest}) as double) then guess + 1
            when number < cast(printf('%.15g', {anchor} + guess * {narrowest}) as double) then guess - 1
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
        number,
        level,
        floor(place / ratio) * ratio as first,
        greatest({anchor} + first * {narrowest}, {below}) as low,
        least({anchor} + (first + ratio) * {narrowest}, {above}) as high
    from placed, steps
)
select
    rank,
    cast(level as integer) as level,
    case
        when number < {below} then '<' || printf('%.15g', {below})
        when number >= {above} then '>=' || printf('%.15g', {above})
        else '[' || printf('%.15g', low) || '-' || printf('%.15g', high) || ')'
    end as label
from bounded
