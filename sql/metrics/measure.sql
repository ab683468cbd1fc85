-- A row is one measure of any table t against its source: t is read as it is printed, whoever made it.
create or replace macro anon.measure(
    t, source := null, quasi := null, k := 5, sensitive := null, hierarchies := null, weights := null, ranges := 'text',
    beta := 0, mi_weight := 0.5
) as table
from query(list_transform(
    [sqlanon_measure(current_database(), current_schema(), cast(to_json({
    t: t, source: source, quasi: quasi, k: k, sensitive: sensitive, hierarchies: hierarchies, weights: weights,
    ranges: ranges, beta: beta, mi_weight: mi_weight
}) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
