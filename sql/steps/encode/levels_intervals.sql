-- A row is one number at one level: the interval of that level's width that holds it, cut where coding begins. Numbers
-- and bounds are compared as they are released, so that a label always holds its numbers; wider intervals count in
-- whole narrow ones, so that levels always nest.
with divided as (
    select rank, cast(cast(value as varchar) as double) as number, floor((number - __anchor__) / __narrowest__) as guess
    from __domain__
    where value is not null
),
placed as (
    select
        rank,
        number,
        case
            when number >= cast(printf('%.15g', __anchor__ + (guess + 1) * __narrowest__) as double) then guess + 1
            when number < cast(printf('%.15g', __anchor__ + guess * __narrowest__) as double) then guess - 1
            else guess
        end as place
    from divided
),
steps as (
    select unnest(__ratios__) as ratio, unnest(range(1, len(__ratios__) + 1)) as level
),
bounded as (
    select
        rank,
        number,
        level,
        floor(place / ratio) * ratio as first,
        greatest(__anchor__ + first * __narrowest__, __below__) as low,
        least(__anchor__ + (first + ratio) * __narrowest__, __above__) as high
    from placed, steps
)
select
    rank,
    cast(level as integer) as level,
    case
        when number < __below__ then '<' || printf('%.15g', __below__)
        when number >= __above__ then '>=' || printf('%.15g', __above__)
        else '[' || printf('%.15g', low) || '-' || printf('%.15g', high) || ')'
    end as label
from bounded
