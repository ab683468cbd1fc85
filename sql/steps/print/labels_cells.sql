-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when __is_alone__ then alone.label
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || __separator__ || last.last || __closing__
    end as label
from (select distinct __lo__ as lo, __hi__ as hi from ranges) as spans
join __cells__ as first on first.rank = spans.lo
join __cells__ as last on last.rank = spans.hi
join __domain__ as alone on alone.rank = spans.lo
