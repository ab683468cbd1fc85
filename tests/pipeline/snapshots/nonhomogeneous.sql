with source as materialized (
select
    "age" as q1, "job" collate "binary" as q2
from "memory"."main"."people"
),
tuples as materialized (
-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it; 0 where only rows that are not to be released do.
-- Reads: source.
select
    q1, q2,
    count(*) as rows
from source
group by all
),
domain_1 as materialized (
-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by value nulls last) - 1 as rank,
    cast(value as double) as place,
    coalesce(try(cast(cast(value as HUGEINT) - cast(origin as HUGEINT) as double)), cast(value as double) - cast(origin as double)) as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct q1 as value from tuples)
)
),
nodes_1 as materialized (
-- A row is one value, as a leaf that stands alone: ranges of such an attribute are released by their two ends.
select 1 as attribute, rank as lo, rank as hi, 0 as level, label, distance as place
from domain_1
),
domain_2 as materialized (
-- A row is one leaf of the hierarchy with its rank, used or not. A NULL in the column is one more leaf, the last.
-- Reads: tuples.
select
    arg_min(label, level) as value,
    lo as rank,
    cast(null as double) as place,
    value as label
from "memory".anon.hierarchy_nodes
where name = 'job' and lo = hi
group by lo
union all
select null, leaves, null, null
from "memory".anon.hierarchies
where name = 'job' and exists (select 1 from tuples where q2 is null)
),
nodes_2 as materialized (
-- A row is a node of the stored hierarchy. NULL is one more leaf directly under the top, which then covers it too.
with missing as (
    select count(*) as nulls
    from domain_2
    where value is null
)
select
    2 as attribute,
    lo,
    hi + case when parent is null then missing.nulls else 0 end as hi,
    level,
    label,
    cast(null as double) as place
from "memory".anon.hierarchy_nodes, missing
where name = 'job'
union all
select 2, leaves, leaves, height - 2, null, null
from "memory".anon.hierarchies, missing
where name = 'job' and missing.nulls > 0
),
nodes as (
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_1
union all
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_2
),
encoded as materialized (
-- A row is one distinct tuple with its number, the rank of each of its values and the codes of its sensitive values;
-- numbered by them, so that neither the order of the rows nor the number of threads matters.
-- Reads: tuples.
select
    row_number() over (order by domain_1.rank, domain_2.rank) - 1 as tuple,
    tuples.*,
    domain_1.rank as r1, domain_2.rank as r2
from tuples
left join domain_1 on domain_1.value is not distinct from tuples.q1
left join domain_2 on domain_2.value is not distinct from cast(tuples.q2 as varchar)
where true
),
guard as (
-- One row: what is wrong with the data, in words, or NULL. Counts only, no values.
-- Reads: encoded, source.
select case
    when rows = 0 then 'The source has no rows.'
    when counted < 5 then 'k is 5, but the source has only ' || format('{:,}', counted::bigint) || if(counted = 1, ' row', ' rows')
        || ': ask for a smaller k.'
    else case
        when q1_0 = 0 then 'Column ''age'' has only NULLs. Leave it out of quasi.'
        when q2_0 = 0 then 'Column ''job'' has only NULLs. Leave it out of quasi.'
        when q2_1 > 0 then q2_1 || ' of the values of column ''job'' are not in hierarchy ''job'': see them with FROM anon.hierarchy_gaps(''people'', ''job'', ''job'').'
    end
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows), 0) as counted, count(q1) as q1_0, count(q2) as q2_0, count(distinct q2) filter (where r2 is null) as q2_1
    from encoded
), (
    select count(*) as total
    from source
)
),
clustered as materialized (
-- One row: the core's answer. It sees distinct tuples of ranks with their counts, the hierarchies, and nothing else.
-- Reads: encoded, guard, nodes.
select sqlanon_cluster(
    '{"k": 5, "kinds": ["numbers", "tree"], "weights": [1.0, 1.0], "method": "nonhomogeneous", "parameters": {"partition": "auto"}, "seed": null, "models": {}, "recursive_c": null, "is_strict": true, "sensitive": [], "distances": [], "entity": null, "has_population": false, "max_suppression": null, "refine": false, "forming": "free", "block_size": null, "run": null}',
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(
            tuple := tuple, rows := rows, released := rows, ranks := cast([r1, r2] as integer[]), codes := cast([] as bigint[])
        ))
        from encoded
    )
) as answer
from guard
where case when message is null then true else error('sqlanon: ' || message) end
),
deals as materialized (
-- A row is one tuple in one group: this many of its rows, from the `first`, counted from 1. `is_shared` says that other
-- rows of the tuple are in other groups.
-- Reads: clustered.
select entry.tuple, entry.group_id, entry.rows, entry.first, count(*) over (partition by entry.tuple) > 1 as is_shared
from (
    select unnest(answer.deals) as entry
    from clustered
    where case when answer.error is null then true else error('sqlanon: ' || answer.error) end
)
),
assigned as materialized (
-- A row is a row of the source with its group. The rows of a tuple that several groups share are dealt out at random, by
-- a source that no seed drives: in an order that depends on a value, the groups would tell who has it.
-- Reads: deals, encoded, source.
select source.*, deals.group_id
from source
join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2
join deals on deals.tuple = encoded.tuple and not deals.is_shared
union all
select dealt.* exclude (tuple, turn), deals.group_id
from (
    select * exclude (chance), row_number() over (partition by tuple order by chance) as turn
    from (
        select source.*, encoded.tuple, sqlanon_shuffle(encoded.tuple) as chance
        from source
        join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2
        where encoded.tuple in (select tuple from deals where is_shared)
    )
) as dealt
asof join deals on deals.tuple = dealt.tuple and dealt.turn >= deals.first
),
ranges as materialized (
-- A row is one group with the smallest and largest rank of each attribute that it prints. Suppressed rows form no group.
-- Reads: clustered.
select entry.group_id as group_id, entry.lo[1] as lo1, entry.hi[1] as hi1, entry.lo[2] as lo2, entry.hi[2] as hi2
from (
    select unnest(answer.ranges) as entry
    from clustered
)
),
labels_1 as materialized (
-- A row is one range of ranks and its text: the value itself, its two ends, or * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when spans.lo = spans.hi then first.label
        when last.value is null then '*'
        else '[' || first.label || '-' || last.label || ']'
    end as label,
    case when last.value is not null then first.value end as smallest,
    last.value as largest
from (select distinct lo1 as lo, hi1 as hi from ranges) as spans
join domain_1 as first on first.rank = spans.lo
join domain_1 as last on last.rank = spans.hi
),
labels_2 as materialized (
-- A row is one range of ranks and the label of the smallest node that covers it: of nodes as wide, the lowest.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    arg_min(
        struct_pack(label := nodes.label),
        struct_pack(width := nodes.hi - nodes.lo, level := nodes.level)
    ).label as label
from (select distinct lo2 as lo, hi2 as hi from ranges) as spans
join nodes_2 as nodes on nodes.lo <= spans.lo and nodes.hi >= spans.hi
group by spans.lo, spans.hi
),
printed as (
-- A row is one group and what is released for each of its attributes; suppressed rows have * everywhere.
-- Reads: ranges.
select ranges.group_id, labels_1.label as p1_label, labels_2.label as p2_label
from ranges
join labels_1 on labels_1.lo = ranges.lo1 and labels_1.hi = ranges.hi1
join labels_2 on labels_2.lo = ranges.lo2 and labels_2.hi = ranges.hi2
union all
select -1, '*', '*'
),
released as materialized (
-- A row is a row of the release: released labels and the columns that are kept.
-- Reads: assigned, printed.
select printed.p1_label as "age",
    printed.p2_label as "job"
from assigned
join printed on printed.group_id = assigned.group_id
),
proof as materialized (
with printed as (
select cast("age" as varchar) as labels_1, cast("job" as varchar) as labels_2, false as is_left_out from released
),
known_1 as materialized (
-- The labels; an error where a label means nothing, or left out.
select *
from (-- A row is one released value or range of an attribute without a hierarchy: how many rows print it, and the share of
-- the whole range that one of them has lost. * has lost everything. Halves, because the whole may be too long for a
-- double.
-- Reads: printed.
select
    'age' as attribute,
    label,
    rows,
    cast(1.0 as double) as weight,
    lo,
    hi,
    ncp,
    ncp as lm,
    ncp as eloss,
    is_modified,
    cast(null as integer) as level,
    cast(null as integer) as height
from (
    select
        printed.label,
        printed.rows,
        case when printed.label = '*' then 0 else printed.first_rank end as lo,
        case when printed.label = '*' then whole.last else printed.last_rank end as hi,
        case
            when printed.label = '*' then 1
            when printed.first_rank = printed.last_rank then 0
            else coalesce((printed.last_distance / 2 - printed.first_distance / 2) / nullif(whole.half, 0), 0)
        end as ncp,
        printed.label is not distinct from '*' or printed.first is distinct from printed.last as is_modified
    from (-- A row is one released value or range, the texts of its two ends and which values they are: none, if they are nobody's.
-- Reads: printed.
select
    printed.*,
    first.rank as first_rank,
    first.distance as first_distance,
    last.rank as last_rank,
    last.distance as last_distance
from (
    select
        labels_1 as label,
        case when label like '[%]' then regexp_extract(label, '^\[(-?(?:[0-9.]+(?:e[+-]?[0-9]+)?))-(-?(?:[0-9.]+(?:e[+-]?[0-9]+)?))\]$', 1) else label end as first,
        case when label like '[%]' then regexp_extract(label, '^\[(-?(?:[0-9.]+(?:e[+-]?[0-9]+)?))-(-?(?:[0-9.]+(?:e[+-]?[0-9]+)?))\]$', 2) else label end as last,
        count(*) as rows
    from printed
    group by all
) as printed
left join domain_1 as first on first.label is not distinct from printed.first
left join domain_1 as last on last.label is not distinct from printed.last) as printed
    cross join (
        select max(distance) / 2 - min(distance) / 2 as half, max(rank) as last
        from domain_1
    ) as whole
)) as labels
where case
    when lo is not null and hi is not null then true
    else error('sqlanon: Column ''age'' has labels that are not a value, range or node of ''people'': name its hierarchy, or the source that the table was made from.')
end
),
known_2 as materialized (
-- The labels; an error where a label means nothing, or left out.
select *
from (-- A row is one released label of an attribute with a hierarchy: how many rows print it, and what one of them has lost.
-- A label that names several nodes counts as the widest.
-- Reads: printed.
select
    'job' as attribute,
    printed.label,
    printed.rows,
    cast(1.0 as double) as weight,
    node.lo,
    node.hi,
    case when node.is_leaf then 0 else (node.hi - node.lo + 1) / (top.hi + 1) end as ncp,
    coalesce((node.hi - node.lo) / nullif(top.hi, 0), 0) as lm,
    case when node.is_leaf then 0 else coalesce(node.level / nullif(top.level, 0), 0) end as eloss,
    not node.is_leaf as is_modified,
    node.level,
    top.level + 1 as height
from (
    select labels_2 as label, count(*) as rows
    from printed
    group by all
) as printed
cross join (
    select max(hi) as hi, max(level) as level
    from nodes_2
) as top
left join (
    select
        label,
        unnest(arg_max(struct_pack(
            lo := lo, hi := hi, level := level, is_leaf := lo = hi and level = lowest
        ), hi - lo))
    from (select *, min(level) over (partition by lo, hi) as lowest from nodes_2)
    group by label
    union all
    select '*', 0, max(hi), max(level), false
    from nodes_2
    having not list_contains(list(label), '*')
) as node on node.label is not distinct from printed.label) as labels
where case
    when lo is not null and hi is not null then true
    else error('sqlanon: Column ''job'' has labels that are not a value, range or node of ''people'': name its hierarchy, or the source that the table was made from.')
end
),
boxes as materialized (
-- A row is one released class: its rows and, for each attribute, the ranks that it covers.
-- Reads: printed.
with classes as (
    select labels_1, labels_2, count(*) as rows, coalesce(labels_1 = '*', false) and coalesce(labels_2 = '*', false) as is_suppressed
    from printed
    group by labels_1, labels_2
)
select classes.rows, classes.is_suppressed, known_1.lo as lo1, known_1.hi as hi1, known_2.lo as lo2, known_2.hi as hi2
from classes
join known_1 on known_1.label is not distinct from classes.labels_1
join known_2 on known_2.label is not distinct from classes.labels_2
)
-- One row: the least number of records that a released row may stand for, or of rows that a record may stand behind,
-- and how many different rows are released. Read from the released labels, against the tuples of the source.
-- Reads: boxes, encoded.
select
    sqlanon_matches(
        (select list(struct_pack(rows := rows, lo := [lo1, lo2], hi := [hi1, hi2])) from boxes),
        (select list(struct_pack(rows := rows, ranks := [r1, r2])) from encoded)
    ) as smallest,
    (select count(*) from boxes) as classes,
    (select sum(rows) from boxes) as rows
)
-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select released."age", decode(encode(released."job")) as "job"
from released, proof
where case
    when proof.smallest < 5 then error('sqlanon: Broken promise: A released row matches only ' || proof.smallest || ' records, or a record matches only that many rows, k is 5: nothing is released.')
    else true
end
order by sqlanon_shuffle(proof.smallest)
