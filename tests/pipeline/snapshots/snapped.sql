with source as materialized (
select
    "age" as q1, "income" as q2, "born" as q3, "visited" as q4
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
cells_1 as materialized (
-- A row is one value, counted in the smallest units that its type has, and its cell: the text of its first and its last
-- one, or of where the next one begins, its place above the first cell of all and how far above it the value is. Unless
-- given, a cell is 1, 2 or 5 · 10ⁿ units wide, about a twentieth of the span and 2 at least. Whatever the number of digits,
-- all of it is exact. A cell ends where its type does. NULL has no cell.
with span as (
    select
        coalesce(
            nullif((max(distance) - min(distance)) * 1e0 / 20, 0), nullif(abs(max(place)) * 1e0 / 20, 0), 1
        ) as twentieth,
        greatest(0, cast(floor(log10(twentieth)) as integer)) as digits,
        twentieth / power(10, digits) as first_digits
    from domain_1
),
grid as (
    select coalesce(cast(5 as hugeint), greatest(2, cast(rpad('1', digits + 1, '0') as hugeint) * case
        when first_digits <= 1 then 1
        when first_digits <= 2 then 2
        when first_digits <= 5 then 5
        else 10
    end)) as width
    from span
),
counted as (
    select rank, cast(value as hugeint) as number, width, (number % width + width) % width as above
    from domain_1, grid
),
begun as (
    select
        rank,
        width,
        above,
        coalesce(try(number - above), -170141183460469231731687303715884105728) as floor
    from counted
    where number is not null
),
ended as (
    select
        rank,
        above,
        floor,
        coalesce(try(floor + (width - 1)), 170141183460469231731687303715884105727) as ceiling,
        min(floor) over () as lowest
    from begun
)
select
    rank,
    cast(floor as varchar) as first,
    cast(ceiling as varchar) as last,
    coalesce(try(cast(floor - lowest as double)), cast(floor as double) - cast(lowest as double)) / 1e0 as start,
    cast(above as double) / 1e0 as above
from ended
union all
select rank, null, null, null, null
from counted
where number is null
),
nodes_1 as materialized (
-- A row is one value, as a leaf that stands alone, in the place where its cell begins, or a little behind it where a value
-- that is alone in its class is released as it is. Ranges of such an attribute are released from cell to cell, so that a
-- range loses what lies between its cells; what every range loses besides, one cell, is the same for all.
select
    1 as attribute,
    leaves.rank as lo,
    leaves.rank as hi,
    0 as level,
    leaves.label,
    cells.start + 0 * cells.above as place
from domain_1 as leaves
join cells_1 as cells on cells.rank = leaves.rank
),
domain_2 as materialized (
-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by value nulls last) - 1 as rank,
    cast(value as double) as place,
    cast(value as double) as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct q2 as value from tuples)
)
),
cells_2 as materialized (
-- A row is one number, where its cell begins and the next one does, and how far above that it is. Unless given, a cell is
-- 1, 2 or 5 · 10ⁿ wide, about a twentieth of the span; never so narrow that the numbers' own digits cannot tell cells
-- apart. Its ends have 15 digits, or as many more as tell cells apart: then ends are counted in units of 10ⁿ, and
-- places begin at the smallest number. A number is in a cell if it is what the text of its ends says. NULL has
-- no cell.
with span as (
    select
        max(abs(place)) as largest,
        min(place) as smallest,
        greatest(
            largest / 4e15,
            coalesce(nullif(max(place) / 20 - min(place) / 20, 0), nullif(abs(max(place)) / 20, 0), 1)
        ) as twentieth,
        floor(log10(twentieth)) as exponent,
        power(10, exponent) as unit
    from domain_2
),
drawn as (
    select *, case
        when twentieth <= unit then 1
        when twentieth <= 2 * unit then 2
        when twentieth <= 5 * unit then 5
        else 10
    end as digits
    from span
),
grid as (
    select
        exponent,
        digits,
        null is null and digits * unit < largest / 1e13 as is_fine,
        case when is_fine then digits * unit else greatest(largest / 1e13, coalesce(null, digits * unit)) end as width,
        case when is_fine then floor(smallest / width) else 0 end as origin,
        case when exponent between -30 and -1 then cast(rpad('1', cast(1 - exponent as integer), '0') as hugeint) end as one
    from drawn
),
edged as (
    select
        rank,
        place,
        width,
        is_fine,
        origin,
        floor(place / width) as guess,
        list_transform([guess - 1, guess, guess + 1, guess + 2], lambda cell: case
            when not is_fine then printf('%.15g', cell * width)
            when exponent between 0 and 6 then cast(cast(cell as hugeint) * digits * cast(power(10, exponent) as integer) as varchar)
            when exponent between -30 and -1 then if(cell < 0, '-', '') || rtrim(rtrim(
                cast((cast(abs(cell) as hugeint) * digits) // one as varchar) || '.'
                    || lpad(cast((cast(abs(cell) as hugeint) * digits) % one as varchar), cast(-exponent as integer), '0'),
                '0'
            ), '.')
            else cast(cast(cell as hugeint) * digits as varchar) || 'e' || cast(cast(exponent as integer) as varchar)
        end) as edges,
        len(list_filter(edges, lambda edge: cast(edge as double) <= place)) as below
    from domain_2, grid
)
select
    rank,
    edges[below] as first,
    edges[below + 1] as last,
    greatest(-1.7e308, least(1.7e308, (guess - 2 + below - origin) * width)) as start,
    place - case when is_fine then cast(first as double) else start end as above
from edged
),
nodes_2 as materialized (
-- A row is one value, as a leaf that stands alone, in the place where its cell begins, or a little behind it where a value
-- that is alone in its class is released as it is. Ranges of such an attribute are released from cell to cell, so that a
-- range loses what lies between its cells; what every range loses besides, one cell, is the same for all.
select
    2 as attribute,
    leaves.rank as lo,
    leaves.rank as hi,
    0 as level,
    leaves.label,
    cells.start + 0 * cells.above as place
from domain_2 as leaves
join cells_2 as cells on cells.rank = leaves.rank
),
domain_3 as materialized (
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
    from (select distinct q3 as value from tuples)
)
),
cells_3 as materialized (
-- A row is one date or time and its cell: a date's first and last day, or when a time's cell begins and the next one
-- does, the place of that and how far above it the value is. Unless given, the shortest of 1, 5 and 15 seconds and
-- minutes, 1, 3, 6 and 12 hours, day, week, month, quarter, 1, 5, 10 and 100 years that is not shorter than a twentieth
-- of the span, and an hour where all values are the same; for dates a week at least. NULL has no cell.
with span as (
    select greatest(coalesce(nullif(max(place) - min(place), 0), 72000) / 86400 / 20, 7) as days
    from domain_3
),
grid as (
    select coalesce(interval '1 month', case
        when days * 86400 <= 1 then interval '1 second'
        when days * 86400 <= 5 then interval '5 seconds'
        when days * 86400 <= 15 then interval '15 seconds'
        when days * 86400 <= 60 then interval '1 minute'
        when days * 86400 <= 300 then interval '5 minutes'
        when days * 86400 <= 900 then interval '15 minutes'
        when days * 86400 <= 3600 then interval '1 hour'
        when days * 86400 <= 10800 then interval '3 hours'
        when days * 86400 <= 21600 then interval '6 hours'
        when days * 86400 <= 43200 then interval '12 hours'
        when days <= 1 then interval '1 day'
        when days <= 7 then interval '7 days'
        when days <= 30 then interval '1 month'
        when days <= 91 then interval '3 months'
        when days <= 365 then interval '1 year'
        when days <= 1826 then interval '5 years'
        when days <= 3652 then interval '10 years'
        else interval '100 years'
    end) as width
    from span
)
select
    rank,
    time_bucket(width, value) as begin,
    begin + width as next,
    cast(begin as varchar) as first,
    cast(cast(next as date) - 1 as varchar) as last,
    epoch(begin) as start,
    place - start as above
from domain_3, grid
),
nodes_3 as materialized (
-- A row is one value, as a leaf that stands alone, in the place where its cell begins, or a little behind it where a value
-- that is alone in its class is released as it is. Ranges of such an attribute are released from cell to cell, so that a
-- range loses what lies between its cells; what every range loses besides, one cell, is the same for all.
select
    3 as attribute,
    leaves.rank as lo,
    leaves.rank as hi,
    0 as level,
    leaves.label,
    cells.start + 0 * cells.above as place
from domain_3 as leaves
join cells_3 as cells on cells.rank = leaves.rank
),
domain_4 as materialized (
-- A row is one value of the column with its rank in order, its place on the number line and its distance from the
-- smallest value, which is exact where the place is not. NULL comes last.
-- Reads: tuples.
select
    value,
    row_number() over (order by value nulls last) - 1 as rank,
    epoch(value) as place,
    cast(cast(epoch_us(value) as hugeint) - epoch_us(origin) as double) / 1e6 as distance,
    cast(value as varchar) as label
from (
    select value, min(value) over () as origin
    from (select distinct q4 as value from tuples)
)
),
cells_4 as materialized (
-- A row is one time and its cell: of the calendar, or of a second's digits where all values are within twenty seconds
-- of each other.
with spread as (
    select coalesce(max(distance) - min(distance), 0) as seconds
    from domain_4
)
select rank, first, last, start, above
from (-- A row is one date or time and its cell: a date's first and last day, or when a time's cell begins and the next one
-- does, the place of that and how far above it the value is. Unless given, the shortest of 1, 5 and 15 seconds and
-- minutes, 1, 3, 6 and 12 hours, day, week, month, quarter, 1, 5, 10 and 100 years that is not shorter than a twentieth
-- of the span, and an hour where all values are the same; for dates a week at least. NULL has no cell.
with span as (
    select greatest(coalesce(nullif(max(place) - min(place), 0), 72000) / 86400 / 20, 0) as days
    from domain_4
),
grid as (
    select coalesce(null, case
        when days * 86400 <= 1 then interval '1 second'
        when days * 86400 <= 5 then interval '5 seconds'
        when days * 86400 <= 15 then interval '15 seconds'
        when days * 86400 <= 60 then interval '1 minute'
        when days * 86400 <= 300 then interval '5 minutes'
        when days * 86400 <= 900 then interval '15 minutes'
        when days * 86400 <= 3600 then interval '1 hour'
        when days * 86400 <= 10800 then interval '3 hours'
        when days * 86400 <= 21600 then interval '6 hours'
        when days * 86400 <= 43200 then interval '12 hours'
        when days <= 1 then interval '1 day'
        when days <= 7 then interval '7 days'
        when days <= 30 then interval '1 month'
        when days <= 91 then interval '3 months'
        when days <= 365 then interval '1 year'
        when days <= 1826 then interval '5 years'
        when days <= 3652 then interval '10 years'
        else interval '100 years'
    end) as width
    from span
)
select
    rank,
    time_bucket(width, value) as begin,
    begin + width as next,
    cast(begin as varchar) as first,
    cast(next as varchar) as last,
    epoch(begin) as start,
    place - start as above
from domain_4, grid), spread
where seconds = 0 or seconds >= 20
union all
select rank, first, last, start, above
from (-- A row is one value, counted in the smallest units that its type has, and its cell: the text of its first and its last
-- one, or of where the next one begins, its place above the first cell of all and how far above it the value is. Unless
-- given, a cell is 1, 2 or 5 · 10ⁿ units wide, about a twentieth of the span and 2 at least. Whatever the number of digits,
-- all of it is exact. A cell ends where its type does. NULL has no cell.
with span as (
    select
        coalesce(
            nullif((max(distance) - min(distance)) * 1e6 / 20, 0), nullif(abs(max(place)) * 1e6 / 20, 0), 1
        ) as twentieth,
        greatest(0, cast(floor(log10(twentieth)) as integer)) as digits,
        twentieth / power(10, digits) as first_digits
    from domain_4
),
grid as (
    select coalesce(cast(null as hugeint), greatest(2, cast(rpad('1', digits + 1, '0') as hugeint) * case
        when first_digits <= 1 then 1
        when first_digits <= 2 then 2
        when first_digits <= 5 then 5
        else 10
    end)) as width
    from span
),
counted as (
    select rank, cast(epoch_us(value) as hugeint) as number, width, (number % width + width) % width as above
    from domain_4, grid
),
begun as (
    select
        rank,
        width,
        above,
        coalesce(try(number - above), -170141183460469231731687303715884105728) as floor
    from counted
    where number is not null
),
ended as (
    select
        rank,
        above,
        floor,
        coalesce(try(floor + (width - 0)), 170141183460469231731687303715884105727) as ceiling,
        min(floor) over () as lowest
    from begun
)
select
    rank,
    cast(make_timestamp(cast(floor as bigint)) as varchar) as first,
    cast(make_timestamp(cast(ceiling as bigint)) as varchar) as last,
    coalesce(try(cast(floor - lowest as double)), cast(floor as double) - cast(lowest as double)) / 1e6 as start,
    cast(above as double) / 1e6 as above
from ended
union all
select rank, null, null, null, null
from counted
where number is null), spread
where seconds > 0 and seconds < 20
),
nodes_4 as materialized (
-- A row is one value, as a leaf that stands alone, in the place where its cell begins, or a little behind it where a value
-- that is alone in its class is released as it is. Ranges of such an attribute are released from cell to cell, so that a
-- range loses what lies between its cells; what every range loses besides, one cell, is the same for all.
select
    4 as attribute,
    leaves.rank as lo,
    leaves.rank as hi,
    0 as level,
    leaves.label,
    cells.start + 0 * cells.above as place
from domain_4 as leaves
join cells_4 as cells on cells.rank = leaves.rank
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
left join domain_4 on domain_4.value is not distinct from tuples.q4
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
        when q2_0 = 0 then 'Column ''income'' has only NULLs. Leave it out of quasi.'
        when q2_1 > 0 then 'Column ''income'' has NaN or infinite values. Replace them, for example by NULL.'
        when q3_0 = 0 then 'Column ''born'' has only NULLs. Leave it out of quasi.'
        when q3_1 > 0 then 'Column ''born'' has NaN or infinite values. Replace them, for example by NULL.'
        when q4_0 = 0 then 'Column ''visited'' has only NULLs. Leave it out of quasi.'
        when q4_1 > 0 then 'Column ''visited'' has NaN or infinite values. Replace them, for example by NULL.'
    end
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows), 0) as counted, count(q1) as q1_0, count(q2) as q2_0, count(*) filter (where not isfinite(q2)) as q2_1, count(q3) as q3_0, count(*) filter (where not isfinite(q3)) as q3_1, count(q4) as q4_0, count(*) filter (where not isfinite(q4)) as q4_1
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
    '{"k": 5, "kinds": ["numbers", "numbers", "numbers", "numbers"], "weights": [1.0, 1.0, 1.0, 1.0], "method": "mondrian", "parameters": {"cuts": "relaxed"}, "seed": null, "models": {}, "recursive_c": null, "is_strict": true, "sensitive": [], "distances": [], "entity": null, "has_population": false, "max_suppression": null, "refine": false, "forming": "free", "block_size": null, "run": null}',
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
ranges as materialized (
-- A row is one group with the smallest and largest rank of each attribute that it prints. Suppressed rows form no group.
-- Reads: clustered.
select entry.group_id as group_id, entry.lo[1] as lo1, entry.hi[1] as hi1, entry.lo[2] as lo2, entry.hi[2] as hi2, entry.lo[3] as lo3, entry.hi[3] as hi3, entry.lo[4] as lo4, entry.hi[4] as hi4
from (
    select unnest(answer.ranges) as entry
    from clustered
)
),
labels_1 as materialized (
-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when false then alone.label
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || '-' || last.last || ']'
    end as label
from (select distinct lo1 as lo, hi1 as hi from ranges) as spans
join cells_1 as first on first.rank = spans.lo
join cells_1 as last on last.rank = spans.hi
join domain_1 as alone on alone.rank = spans.lo
),
labels_2 as materialized (
-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when false then alone.label
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || '-' || last.last || ')'
    end as label
from (select distinct lo2 as lo, hi2 as hi from ranges) as spans
join cells_2 as first on first.rank = spans.lo
join cells_2 as last on last.rank = spans.hi
join domain_2 as alone on alone.rank = spans.lo
),
labels_3 as materialized (
-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when false then alone.label
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || ' - ' || last.last || ']'
    end as label
from (select distinct lo3 as lo, hi3 as hi from ranges) as spans
join cells_3 as first on first.rank = spans.lo
join cells_3 as last on last.rank = spans.hi
join domain_3 as alone on alone.rank = spans.lo
),
labels_4 as materialized (
-- A row is one range of ranks and its text: from the first cell that it touches to the last, a cell of one value as that
-- value, NULL alone as NULL, and * when it spans NULL and values.
-- Reads: ranges.
select
    spans.lo,
    spans.hi,
    case
        when first.first is null then null
        when false then alone.label
        when last.last is null then '*'
        when first.first = last.last then first.first
        else '[' || first.first || ' - ' || last.last || ')'
    end as label
from (select distinct lo4 as lo, hi4 as hi from ranges) as spans
join cells_4 as first on first.rank = spans.lo
join cells_4 as last on last.rank = spans.hi
join domain_4 as alone on alone.rank = spans.lo
),
printed as (
-- A row is one group and what is released for each of its attributes; suppressed rows have * everywhere.
-- Reads: ranges.
select ranges.group_id, labels_1.label as p1_label, labels_2.label as p2_label, labels_3.label as p3_label, labels_4.label as p4_label
from ranges
join labels_1 on labels_1.lo = ranges.lo1 and labels_1.hi = ranges.hi1
join labels_2 on labels_2.lo = ranges.lo2 and labels_2.hi = ranges.hi2
join labels_3 on labels_3.lo = ranges.lo3 and labels_3.hi = ranges.hi3
join labels_4 on labels_4.lo = ranges.lo4 and labels_4.hi = ranges.hi4
union all
select -1, '*', '*', '*', '*'
),
released as materialized (
-- A row is a row of the release: released labels and the columns that are kept.
-- Reads: assigned, printed.
select printed.p1_label as "age",
    printed.p3_label as "born",
    printed.p4_label as "visited",
    printed.p2_label as "income"
from assigned
join printed on printed.group_id = assigned.group_id
),
proof as materialized (
-- One row: the size of the smallest class and how many there are, counted on the released values and nothing else.
select min(rows) as smallest, count(*) as classes, sum(rows) as rows
from (
    select count(*) as rows
    from released
    group by "age", "income", "born", "visited"
)
)
-- A row is a row of the release, in random order; an error instead if what is released breaks a promise.
-- Reads: proof, released.
select released."age", released."born", released."visited", released."income"
from released, proof
where case
    when proof.smallest < 5 then error('sqlanon: Broken promise: A released class has only ' || proof.smallest || ' rows, k is 5: nothing is released.')
    else true
end
order by sqlanon_shuffle(proof.smallest)
