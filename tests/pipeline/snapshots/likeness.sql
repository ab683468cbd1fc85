with source as materialized (
select
    "age" as q1, "diagnosis" as c1
from "memory"."main"."people"
),
tuples as materialized (
-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it; 0 where only rows that are not to be released do.
-- Reads: source.
select
    q1, c1,
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
nodes as (
select attribute, cast(lo as integer) as lo, cast(hi as integer) as hi, level, place from nodes_1
),
encoded as materialized (
-- A row is one distinct tuple with its number, the rank of each of its values and the codes of its sensitive values;
-- numbered by them, so that neither the order of the rows nor the number of threads matters.
-- Reads: tuples.
select
    row_number() over (order by domain_1.rank, tuples.c1) - 1 as tuple,
    tuples.*,
    domain_1.rank as r1, dense_rank() over (order by tuples.c1 nulls last) - 1 as c1_code
from tuples
left join domain_1 on domain_1.value is not distinct from tuples.q1
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
    end
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows), 0) as counted, count(q1) as q1_0
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
    '{"k": 5, "kinds": ["numbers"], "weights": [1.0], "method": "auto", "parameters": {"objective": "ncp", "effort": "balanced", "time_budget": null}, "seed": null, "models": {"recursive_l": 2, "alpha": 0.6, "basic_beta": 2.0, "enhanced_beta": 2.0, "delta": 3.0}, "recursive_c": 2.5, "is_strict": true, "sensitive": ["diagnosis"], "distances": ["equal"], "entity": null, "has_population": false, "max_suppression": null, "refine": false, "forming": "free", "block_size": null, "run": null}',
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(
            tuple := tuple, rows := rows, released := rows, ranks := cast([r1] as integer[]), codes := cast([c1_code] as bigint[])
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
join encoded on source.q1 is not distinct from encoded.q1 and source.c1 is not distinct from encoded.c1
join deals on deals.tuple = encoded.tuple and not deals.is_shared
union all
select dealt.* exclude (tuple, turn), deals.group_id
from (
    select * exclude (chance), row_number() over (partition by tuple order by chance) as turn
    from (
        select source.*, encoded.tuple, sqlanon_shuffle(encoded.tuple) as chance
        from source
        join encoded on source.q1 is not distinct from encoded.q1 and source.c1 is not distinct from encoded.c1
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
    assigned.c1 as "diagnosis"
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
select min(reached) as reached
from (
-- A row is a class, and the largest l for which its most frequent sensitive value has fewer rows than c times those of
-- the l-th most frequent and all rarer ones.
select q1, count(*) filter (where most < 2.5 * rest - 1e-9) as reached
from (
    select
        q1,
        max(n) over (partition by q1) as most,
        sum(n) over (
            partition by q1 order by n desc rows between current row and unbounded following
        ) as rest
    from (-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all)
)
group by q1
)
),
model_2 as (
select max(reached) as reached
from (
-- A row is a class, and the share of its most frequent sensitive value.
select q1, max(n) / sum(n) as reached
from (-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all)
group by q1
)
),
model_3 as (
select max(reached) as reached
from (
-- A row is a class, and the most that a sensitive value's share gains there, relative to its share of the table.
select q1, max(share / expected) - 1 as reached
from (-- A row is a sensitive value in a class: its share there and in the whole table.
select
    q1,
    v,
    n / sum(n) over (partition by q1) as share,
    sum(n) over (partition by v) / sum(n) over () as expected
from (-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all))
group by q1
)
),
model_4 as (
select max(reached) as reached
from (
-- A row is a class, and the most that a sensitive value's share gains there, relative to its share of the table;
-- infinity where one gains more than -ln of the latter, which no beta allows.
select
    q1,
    case
        when max(share / expected - 1 + ln(expected)) > 1e-9 then 'infinity'::double
        else max(share / expected) - 1
    end as reached
from (-- A row is a sensitive value in a class: its share there and in the whole table.
select
    q1,
    v,
    n / sum(n) over (partition by q1) as share,
    sum(n) over (partition by v) / sum(n) over () as expected
from (-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all))
group by q1
)
),
model_5 as (
select max(reached) as reached
from (
-- A row is a class, and the largest |ln(share there / share of the table)| of a sensitive value; infinity where the
-- class lacks one.
select
    q1,
    case
        when count(*) < any_value(all_values) then 'infinity'::double
        else max(abs(ln(share / expected)))
    end as reached
from (
    select *, max(place) over () as all_values
    from (
        select *, dense_rank() over (order by v) as place
        from (-- A row is a sensitive value in a class: its share there and in the whole table.
select
    q1,
    v,
    n / sum(n) over (partition by q1) as share,
    sum(n) over (partition by v) / sum(n) over () as expected
from (-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select "age" as q1, "diagnosis" as v, count(*) as n
from released
group by all))
    )
)
group by q1
)
)
-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select released."age", released."diagnosis"
from released, proof, model_1, model_2, model_3, model_4, model_5
where case
    when proof.smallest < 5 then error('sqlanon: Broken promise: A released class has only ' || proof.smallest || ' rows, k is 5: nothing is released.')
    when model_1.reached < 2 - 1e-09 then error('sqlanon: Broken promise: A released class reaches recursive_l = ' || model_1.reached || ' in diagnosis, recursive_l is 2: nothing is released.')
    when model_2.reached > 0.6 + 1e-09 then error('sqlanon: Broken promise: A released class reaches alpha = ' || model_2.reached || ' in diagnosis, alpha is 0.6: nothing is released.')
    when model_3.reached > 2.0 + 1e-09 then error('sqlanon: Broken promise: A released class reaches basic_beta = ' || model_3.reached || ' in diagnosis, basic_beta is 2: nothing is released.')
    when model_4.reached > 2.0 + 1e-09 then error('sqlanon: Broken promise: A released class reaches enhanced_beta = ' || model_4.reached || ' in diagnosis, enhanced_beta is 2: nothing is released.')
    when model_5.reached > 3.0 + 1e-09 then error('sqlanon: Broken promise: A released class reaches delta = ' || model_5.reached || ' in diagnosis, delta is 3: nothing is released.')
    else true
end
order by sqlanon_shuffle(proof.smallest)
