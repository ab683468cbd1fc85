-- A row is one node of a stored hierarchy, in depth-first order, its label indented by its depth.
create or replace macro anon.hierarchy_tree(h) as table (
    select repeat('  ', known.height - 1 - node.level) || node.label as tree, node.hi - node.lo + 1 as leaves
    from anon.hierarchy_nodes as node
    join anon.hierarchies as known on known.name = node.name
    where lower(node.name) = lower(h)
    order by node.node
);
