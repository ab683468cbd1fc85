-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || {separator} || last.last || {closing}
    end as label
from (select distinct {lo} as lo, {hi} as hi from ranges) as spans
join ({cells}) as first on first.rank = spans.lo
join ({cells}) as last on last.rank = spans.hi
