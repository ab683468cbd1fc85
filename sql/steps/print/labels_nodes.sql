-- A row is one range of ranks and the label of the smallest node that covers it: of nodes as wide, the lowest.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    arg_min(
        struct_pack(label := nodes.label),
        struct_pack(width := nodes.hi - nodes.lo, level := nodes.level)
    ).label as label
from (select distinct __lo__ as lo, __hi__ as hi from ranges) as spans
join __nodes__ as nodes on nodes.lo <= spans.lo and nodes.hi >= spans.hi
group by spans.lo, spans.hi
