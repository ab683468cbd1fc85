with source as materialized (
select
    "age" as q1, "diagnosis" as q2, "income" as c2
from "memory"."main"."people"
),
tuples as materialized (
-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it; 0 where only rows that are not to be released do.
-- Reads: source.
select
    q1, q2, c2,
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
    row_number() over (order by domain_1.rank, domain_2.rank, tuples.c2) - 1 as tuple,
    tuples.*,
    domain_1.rank as r1, domain_2.rank as r2, dense_rank() over (order by tuples.c2 nulls last) - 1 as c2_code
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
        when q2_1 > 0 then q2_1 || ' of the values of column ''diagnosis'' are not in hierarchy ''job'': see them with FROM anon.hierarchy_gaps(''people'', ''diagnosis'', ''job'').'
    end
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows), 0) as counted, count(q1) as q1_0, count(distinct q2) filter (where r2 is null) as q2_1
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
    '{"k": 5, "kinds": ["numbers"], "weights": [1.0], "method": "auto", "parameters": {"objective": "ncp", "effort": "balanced", "time_budget": null}, "seed": null, "models": {"t": 0.4}, "recursive_c": null, "is_strict": false, "sensitive": ["diagnosis", "income"], "distances": [2, "ordered"], "entity": null, "has_population": false, "max_suppression": null, "refine": false, "forming": "free", "block_size": null, "run": null}',
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(
            tuple := tuple, rows := rows, released := rows, ranks := cast([r1] as integer[]), codes := cast([r2, c2_code] as bigint[])
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
join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2 and source.c2 is not distinct from encoded.c2
join deals on deals.tuple = encoded.tuple and not deals.is_shared
union all
select dealt.* exclude (tuple, turn), deals.group_id
from (
    select * exclude (chance), row_number() over (partition by tuple order by chance) as turn
    from (
        select source.*, encoded.tuple, sqlanon_shuffle(encoded.tuple) as chance
        from source
        join encoded on source.q1 is not distinct from encoded.q1 and source.q2 is not distinct from encoded.q2 and source.c2 is not distinct from encoded.c2
        where encoded.tuple in (select tuple from deals where is_shared)
    )
) as dealt
asof join deals on deals.tuple = dealt.tuple and dealt.turn >= deals.first
),
ranges as materialized (
-- A row is one group with the smallest and largest rank of each attribute that it prints. Suppressed rows form no group.
-- Reads: clustered.
select entry.group_id as group_id, entry.lo[1] as lo1, entry.hi[1] as hi1
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
printed as (
-- A row is one group and what is released for each of its attributes; suppressed rows have * everywhere.
-- Reads: ranges.
select ranges.group_id, labels_1.label as p1_label
from ranges
join labels_1 on labels_1.lo = ranges.lo1 and labels_1.hi = ranges.hi1
union all
select -1, '*'
),
released as materialized (
-- A row is a row of the release: released labels and the columns that are kept.
-- Reads: assigned, printed.
select printed.p1_label as "age",
    assigned.c2 as "income",
    assigned.q2 as "diagnosis"
from assigned
join printed on printed.group_id = assigned.group_id
),
proof as materialized (
-- One row: the size of the smallest class and how many there are, counted on the released values and nothing else.
select min(rows) as smallest, count(*) as classes, sum(rows) as rows
from (
    select count(*) as rows
    from released
    group by "age"
)
),
model_1 as (
select max(reached) as reached
from (
-- A row is a class, and the earth mover's distance of its sensitive values to the table's, leaves of a hierarchy being as
-- far apart as their closest common node is high: the mean over all levels below the top of what their distance is there
-- if all nodes are as far from each other. A value that is not in the hierarchy stays itself at every level.
with counted as materialized (
    -- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all
),
tuples as (
    select distinct v as q2
    from counted
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
height as (
    select coalesce(max(level), error('sqlanon: ' || 'The hierarchy of column ''diagnosis'' is gone.')) as levels
    from nodes_2
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
        select tuples.q2 as v, domain.rank, row_number() over () as number, levels.level
        from tuples
        left join domain_2 as domain on domain.value is not distinct from cast(tuples.q2 as varchar), height,
            unnest(range(height.levels)) as levels(level)
    ) as found
    left join nodes_2 as nodes on nodes.lo <= found.rank and nodes.hi >= found.rank and nodes.level >= found.level
    group by found.v, found.rank, found.number, found.level
)
select q1, round(sum(greatest(share - expected, 0)) / (select levels from height), 10) as reached
from (
    select
        q1,
        sum(n) / sum(sum(n)) over (partition by q1, level) as share,
        sum(sum(n)) over (partition by level, node) / sum(sum(n)) over (partition by level) as expected
    from counted
    join generalized on generalized.v is not distinct from counted.v
    group by q1, level, node
)
group by q1
)
),
model_2 as (
select max(reached) as reached
from (
-- A row is a class, and the earth mover's distance of its sensitive values to the table's, values being in a row and
-- NULL the last: the area between the cumulative shares. From one value of a class to the next its own share stays and
-- the table's rises, so that the area is two pieces, before and after they meet, of sums that are known for the table.
with counted as materialized (
    -- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "income" as v, count(*) as n
from released
group by all
),
line as materialized (
    select v, place, upto, coalesce(sum(upto) over (order by place rows unbounded preceding) - upto, 0) as area
    from (
        select
            v,
            row_number() over (order by v nulls last) - 1 as place,
            sum(held) over (order by v nulls last rows unbounded preceding) / sum(held) over () as upto
        from (
            select v, sum(n) as held
            from counted
            group by v
        )
    )
),
ends as (
    select max(place) + 1 as place, sum(upto) as area
    from line
),
steps as (
    select
        q1,
        line.place,
        line.area,
        sum(n) over before / sum(n) over (partition by q1) as share,
        lag(line.place) over before is null as is_first,
        coalesce(lead(line.place) over before, ends.place) as next_place,
        coalesce(lead(line.area) over before, ends.area) as next_area
    from counted
    join line on line.v is not distinct from counted.v, ends
    window before as (partition by q1 order by line.place rows unbounded preceding)
),
met as (
    select
        steps.*,
        case
            when below.place is null or below.place < steps.place then struct_pack(place := steps.place, area := steps.area)
            when below.place >= next_place then struct_pack(place := next_place, area := next_area)
            else struct_pack(place := below.place + 1, area := below.area + below.upto)
        end as meet
    from steps
    asof left join line as below on below.upto < steps.share
)
select
    q1,
    round(
        sum(
            share * (2 * meet.place - place - next_place) - 2 * meet.area + area + next_area
            + case when is_first then area else 0 end
        ) / greatest((select max(place) from line), 1),
        10
    ) as reached
from met
group by q1
)
)
-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select released."age", released."income", released."diagnosis"
from released, proof, model_1, model_2
where case
    when proof.smallest < 5 then error('sqlanon: Broken promise: A released class has only ' || proof.smallest || ' rows, k is 5: nothing is released.')
    when model_1.reached > 0.4 + 1e-09 then error('sqlanon: Broken promise: A released class reaches t = ' || model_1.reached || ' in diagnosis, t is 0.4: nothing is released.')
    when model_2.reached > 0.4 + 1e-09 then error('sqlanon: Broken promise: A released class reaches t = ' || model_2.reached || ' in income, t is 0.4: nothing is released.')
    else true
end
order by sqlanon_shuffle(proof.smallest)
