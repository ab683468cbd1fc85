-- A row is a class, and the earth mover's distance of its sensitive values to the table's, leaves of a hierarchy being as
-- far apart as their closest common node is high: the mean over all levels below the top of what their distance is there
-- if all nodes are as far from each other. A value that is not in the hierarchy stays itself at every level.
with counted as materialized (
    __counted__
),
tuples as (
    select distinct v as __value__
    from counted
),
__domain__ as materialized (
    __domain_query__
),
__nodes__ as materialized (
    __nodes_query__
),
height as (
    select coalesce(max(level), error('sqlanon: ' || __missing__)) as levels
    from __nodes__
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
        select tuples.__value__ as v, domain.rank, row_number() over () as number, levels.level
        from tuples
        left join __domain__ as domain on domain.value is not distinct from __key__, height,
            unnest(range(height.levels)) as levels(level)
    ) as found
    left join __nodes__ as nodes on nodes.lo <= found.rank and nodes.hi >= found.rank and nodes.level >= found.level
    group by found.v, found.rank, found.number, found.level
)
select __classes__, round(sum(greatest(share - expected, 0)) / (select levels from height), 10) as reached
from (
    select
        __classes__,
        sum(n) / sum(sum(n)) over (partition by __classes__, level) as share,
        sum(sum(n)) over (partition by level, node) / sum(sum(n)) over (partition by level) as expected
    from counted
    join generalized on generalized.v is not distinct from counted.v
    group by __classes__, level, node
)
group by __classes__
