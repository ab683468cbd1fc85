-- A row is a node of a stored hierarchy, in depth-first order: how deep it is, its label, how many leaves it covers, and
-- whether it is one.
select
    known.height - 1 - node.level as depth,
    node.label,
    node.hi - node.lo + 1 as leaves,
    not exists (
        select 1
        from __anon__.hierarchy_nodes as child
        where child.name = node.name and child.parent = node.node
    ) as is_leaf
from __anon__.hierarchy_nodes as node
join __anon__.hierarchies as known on known.name = node.name
where node.name = $1
order by node.node
