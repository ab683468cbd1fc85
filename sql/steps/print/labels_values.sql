-- A row is one range of ranks and its text: the value itself, its two ends, or * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when spans.lo = spans.hi then first.label
        when last.value is null then '*'
        else '[' || first.label || __separator__ || last.label || ']'
    end as label,
    case when last.value is not null then first.value end as smallest,
    last.value as largest
from (select distinct __lo__ as lo, __hi__ as hi from ranges) as spans
join __domain__ as first on first.rank = spans.lo
join __domain__ as last on last.rank = spans.hi
