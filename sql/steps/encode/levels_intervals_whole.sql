-- A row is one whole number at one level: the interval of that level's width that holds it, cut where coding begins.
with steps as (
    select unnest(__widths__) as width, unnest(range(1, len(__widths__) + 1)) as level
),
placed as (
    select
        rank,
        level,
        cast(value as hugeint) as number,
        number - ((number - __anchor__) % width + width) % width as floor,
        greatest(floor, __below__) as low,
        least(floor + width, __above__) - 1 as high
    from __domain__, steps
    where value is not null
)
select
    rank,
    cast(level as integer) as level,
    case
        when number < __below__ then '<' || __below__
        when number >= __above__ then '>=' || __above__
        when low = high then cast(low as varchar)
        else '[' || low || '-' || high || ']'
    end as label
from placed
