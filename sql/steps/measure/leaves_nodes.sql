-- A row is one level at which leaves stand: the rows of the source that hold such a leaf, and the sum over those leaves
-- of rows · log2(rows).
select __column__ as attribute, leaf.level, top.level + 1 as height, sum(counts.rows) as rows,
    sum(counts.rows * log2(counts.rows)) as logarithms
from __counts__ as counts
join (
    select lo, min(level) as level
    from __nodes__
    where lo = hi
    group by lo
) as leaf on leaf.lo = counts.rank
cross join (
    select max(level) as level
    from __nodes__
) as top
group by all
