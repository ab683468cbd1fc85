-- A row is one level at which leaves stand, and how many rows of the source hold such a leaf.
select {column} as attribute, leaf.level, top.level + 1 as height, sum(tuples.rows) as rows
from tuples
join {domain} as domain on domain.value is not distinct from {key}
join (
    select lo, min(level) as level
    from {nodes}
    where lo = hi
    group by lo
) as leaf on leaf.lo = domain.rank
cross join (
    select max(level) as level
    from {nodes}
) as top
group by all
