with source as materialized (
select
    "age" as q1, "born" as q2, "sex" collate "binary" as q3, "job" collate "binary" as q4
from "memory"."main"."people"
),
tuples as materialized (
-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it; 0 where only rows that are not to be released do.
-- Reads: source.
select
    q1, q2, q3, q4,
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
-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by value nulls last) - 1 as rank,
    epoch(value) as place,
    epoch(value) as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct q2 as value from tuples)
)
),
nodes_2 as materialized (
-- A row is one value, as a leaf that stands alone: ranges of such an attribute are released by their two ends.
select 2 as attribute, rank as lo, rank as hi, 0 as level, label, distance as place
from domain_2
),
domain_3 as materialized (
-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by value nulls last) - 1 as rank,
    cast(null as double) as place,
    cast(null as double) as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct q3 as value from tuples)
)
),
nodes_3 as materialized (
-- A row is a node of the tree over this column's values: leaves in value order, then each level, then the top.
-- NULL is a leaf directly under the top.
with levels as (
    -- No level between the values and the top.
select cast(null as bigint) as rank, cast(null as integer) as level, cast(null as varchar) as label
where false
),
top as (
    select coalesce(max(level), 0) + 1 as level
    from levels
)
select
    3 as attribute,
    rank as lo,
    rank as hi,
    case when value is null then top.level - 1 else 0 end as level,
    label,
    cast(null as double) as place
from domain_3, top
union all
select 3, min(rank), max(rank), level, label, null
from levels
group by level, label
union all
select 3, 0, (select max(rank) from domain_3), top.level, '*', null
from top
),
domain_4 as materialized (
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
where name = 'job' and exists (select 1 from tuples where q4 is null)
),
nodes_4 as materialized (
-- A row is a node of the stored hierarchy. NULL is one more leaf directly under the top, which then covers it too.
with missing as (
    select count(*) as nulls
    from domain_4
    where value is null
)
select
    4 as attribute,
    lo,
    hi + case when parent is null then missing.nulls else 0 end as hi,
    level,
    label,
    cast(null as double) as place
from "memory".anon.hierarchy_nodes, missing
where name = 'job'
union all
select 4, leaves, leaves, height - 2, null, null
from "memory".anon.hierarchies, missing
where name = 'job' and missing.nulls > 0
),
nodes as (
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_1
union all
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_2
union all
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_3
union all
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_4
),
encoded as materialized (
-- A row is one distinct tuple with its number, the rank of each of its values and the codes of its sensitive values;
-- numbered by them, so that neither the order of the rows nor the number of threads matters.
-- Reads: tuples.
select
    row_number() over (order by domain_1.rank, domain_2.rank, domain_3.rank, domain_4.rank) - 1 as tuple,
    tuples.*,
    domain_1.rank as r1, domain_2.rank as r2, domain_3.rank as r3, domain_4.rank as r4
from tuples
left join domain_1 on domain_1.value is not distinct from tuples.q1
left join domain_2 on domain_2.value is not distinct from tuples.q2
left join domain_3 on domain_3.value is not distinct from tuples.q3
left join domain_4 on domain_4.value is not distinct from cast(tuples.q4 as varchar)
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
        when q2_0 = 0 then 'Column ''born'' has only NULLs. Leave it out of quasi.'
        when q2_1 > 0 then 'Column ''born'' has NaN or infinite values. Replace them, for example by NULL.'
        when q3_0 = 0 then 'Column ''sex'' has only NULLs. Leave it out of quasi.'
        when q4_0 = 0 then 'Column ''job'' has only NULLs. Leave it out of quasi.'
        when q4_1 > 0 then q4_1 || ' of the values of column ''job'' are not in hierarchy ''job'': see them with FROM anon.hierarchy_gaps(''people'', ''job'', ''job'').'
    end
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows), 0) as counted, count(q1) as q1_0, count(q2) as q2_0, count(*) filter (where not isfinite(q2)) as q2_1, count(q3) as q3_0, count(q4) as q4_0, count(distinct q4) filter (where r4 is null) as q4_1
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
    '{"k": 5, "kinds": ["numbers", "numbers", "tree", "tree"], "weights": [1.0, 1.0, 1.0, 1.0], "method": "mdav", "parameters": {"categories": "hierarchy"}, "seed": null, "models": {}, "recursive_c": null, "is_strict": true, "sensitive": [], "distances": [], "entity": null, "has_population": false, "max_suppression": null, "refine": false, "forming": "free", "block_size": null, "run": null}',
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(
            tuple := tuple, rows := rows, released := rows, ranks := cast([r1, r2, r3, r4] as integer[]), codes := cast([] as bigint[])
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
assigned as (
-- A row is a row of the source with its group. The rows of a tuple that several groups share are dealt out at random, by
-- a source that no seed drives: in an order that depends on a value, the groups would tell who has it.
-- Reads: deals, encoded, source.
select source.*, deals.group_id
from source
join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2 and source.q3 is not distinct from encoded.q3 and source.q4 is not distinct from encoded.q4
join deals on deals.tuple = encoded.tuple and not deals.is_shared
union all
select dealt.* exclude (tuple, turn), deals.group_id
from (
    select * exclude (chance), row_number() over (partition by tuple order by chance) as turn
    from (
        select source.*, encoded.tuple, sqlanon_shuffle(encoded.tuple) as chance
        from source
        join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2 and source.q3 is not distinct from encoded.q3 and source.q4 is not distinct from encoded.q4
        where encoded.tuple in (select tuple from deals where is_shared)
    )
) as dealt
asof join deals on deals.tuple = dealt.tuple and dealt.turn >= deals.first
),
members as materialized (
-- A row is one tuple in one group, and how many of its rows are there.
-- Reads: deals, encoded.
select deals.tuple, deals.group_id, case when deals.is_shared then deals.rows else encoded.rows end as rows
from deals
join encoded on encoded.tuple = deals.tuple
),
centers_1 as (
-- A row is one group and the mean of its numbers, NULLs left out.
-- Reads: encoded, members.
select members.group_id, sum(domain_1.place * members.rows) / sum(members.rows) as center
from members
join encoded on encoded.tuple = members.tuple
join domain_1 on domain_1.rank = encoded.r1 and domain_1.value is not null
group by members.group_id
),
centers_2 as (
-- A row is one group and its middle value: half of its rows are not above it. NULLs are left out.
-- Reads: encoded, members.
select group_id, arg_min(value, rank) as center
from (
    select
        members.group_id,
        domain_2.value,
        domain_2.rank,
        sum(members.rows) over (partition by members.group_id order by domain_2.rank) as so_far,
        sum(members.rows) over (partition by members.group_id) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join domain_2 on domain_2.rank = encoded.r2 and domain_2.value is not null
)
where 2 * so_far >= rows
group by group_id
),
centers_3 as (
-- A row is one group and its most frequent value: of values as frequent, the first.
-- Reads: encoded, members.
select group_id, arg_max(struct_pack(label := label), struct_pack(rows := rows, first := -rank)).label as center
from (
    select members.group_id, encoded.r3 as rank, any_value(domain_3.label) as label, sum(members.rows) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join domain_3 on domain_3.rank = encoded.r3
    group by all
)
group by group_id
),
centers_4 as (
-- A row is one group and its most frequent value: of values as frequent, the first.
-- Reads: encoded, members.
select group_id, arg_max(struct_pack(label := label), struct_pack(rows := rows, first := -rank)).label as center
from (
    select members.group_id, encoded.r4 as rank, any_value(domain_4.label) as label, sum(members.rows) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join domain_4 on domain_4.rank = encoded.r4
    group by all
)
group by group_id
),
printed as (
-- A row is one group and the center that is released for each of its attributes; suppressed rows print none.
-- Reads: members.
with groups as (
    select distinct group_id
    from members
    where group_id >= 0
)
select groups.group_id, centers_1.center as p1_label, centers_2.center as p2_label, centers_3.center as p3_label, centers_4.center as p4_label
from groups
left join centers_1 on centers_1.group_id = groups.group_id
left join centers_2 on centers_2.group_id = groups.group_id
left join centers_3 on centers_3.group_id = groups.group_id
left join centers_4 on centers_4.group_id = groups.group_id
union all
select -1, null, null, '*', '*'
),
released as materialized (
-- A row is a row of the release: released labels and the columns that are kept.
-- Reads: assigned, printed.
select printed.p1_label as "age",
    printed.p3_label as "sex",
    printed.p2_label as "born",
    printed.p4_label as "job"
from assigned
join printed on printed.group_id = assigned.group_id
),
proof as materialized (
-- One row: the size of the smallest class and how many there are, counted on the released values and nothing else.
select min(rows) as smallest, count(*) as classes, sum(rows) as rows
from (
    select count(*) as rows
    from released
    group by "age", "born", "sex", "job"
)
)
-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select released."age", decode(encode(released."sex")) as "sex", released."born", decode(encode(released."job")) as "job"
from released, proof
where case
    when proof.smallest < 5 then error('sqlanon: Broken promise: A released class has only ' || proof.smallest || ' rows, k is 5: nothing is released.')
    else true
end
order by sqlanon_shuffle(proof.smallest)
