-- A row is one measure of any table t against its source: t is read as it is printed, whoever made it.
create or replace macro anon.measure(t, source := null, quasi := null, k := 5, hierarchies := null, weights := null, ranges := 'text', beta := 0) as table
from query(sqlanon_measure(current_database(), current_schema(), cast(to_json({
    t: t, source: source, quasi: quasi, k: k, hierarchies: hierarchies, weights: weights, ranges: ranges, beta: beta
}) as varchar)));
