-- A row is one released label of an attribute with a hierarchy: how many rows print it, and what one of them has lost.
-- A label that names several nodes counts as the widest.
-- Reads: printed.
select
    __column__ as attribute,
    printed.label,
    printed.rows,
    cast(__weight__ as double) as weight,
    node.lo,
    node.hi,
    case when node.is_leaf then 0 else (node.hi - node.lo + 1) / (top.hi + 1) end as ncp,
    coalesce((node.hi - node.lo) / nullif(top.hi, 0), 0) as lm,
    case when node.is_leaf then 0 else coalesce(node.level / nullif(top.level, 0), 0) end as eloss,
    not node.is_leaf as is_modified,
    node.level,
    top.level + 1 as height
from (
    select __label__ as label, count(*) as rows
    from printed
    group by all
) as printed
cross join (
    select max(hi) as hi, max(level) as level
    from __nodes__
) as top
left join (
    select
        label,
        unnest(arg_max(struct_pack(
            lo := lo, hi := hi, level := level, is_leaf := lo = hi and level = lowest
        ), hi - lo))
    from (select *, min(level) over (partition by lo, hi) as lowest from __nodes__)
    group by label
    union all
    select '*', 0, max(hi), max(level), false
    from __nodes__
    having not list_contains(list(label), '*')
) as node on node.label is not distinct from printed.label
