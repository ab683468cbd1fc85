-- A row is a class, and the earth mover's distance of its sensitive values to the table's, leaves of a hierarchy being as
-- far apart as their closest common node is high: the mean over all levels below the top of what their distance is there
-- if all nodes are as far from each other. A value that is not in the hierarchy stays itself at every level.
with counted as materialized (
    {counted}
),
tuples as (
    select distinct v as {value}
    from counted
),
{hierarchy},
height as (
    select coalesce(max(level), error({missing})) as levels
    from {nodes}
),
generalized as materialized (
    select
        found.v,
        found.level,
        coalesce(
            arg_min(
                struct_pack(lo := nodes.lo, hi := nodes.hi, own := 0),
                struct_pack(width := nodes.hi - nodes.lo, level := nodes.level)
            ),
            struct_pack(lo := -1, hi := -1, own := found.number)
        ) as node
    from (
        select tuples.{value} as v, domain.rank, row_number() over () as number, levels.level
        from tuples
        left join {domain} as domain on domain.value is not distinct from {key}, height,
            unnest(range(height.levels)) as levels(level)
    ) as found
    left join {nodes} as nodes on nodes.lo <= found.rank and nodes.hi >= found.rank and nodes.level >= found.level
    group by found.v, found.rank, found.number, found.level
)
select {classes}, round(sum(greatest(share - expected, 0)) / (select levels from height), 10) as reached
from (
    select
        {classes},
        sum(n) / sum(sum(n)) over (partition by {classes}, level) as share,
        sum(sum(n)) over (partition by level, node) / sum(sum(n)) over (partition by level) as expected
    from counted
    join generalized on generalized.v is not distinct from counted.v
    group by {classes}, level, node
)
group by {classes}
