-- A row is one lower bound of the GCP that any k-anonymous release of the source has: pair, box where there are few
-- enough generalized tuples, and gcp, the better of them record by record.
create or replace macro anon.lower_bound(source, quasi := null, k := 5, hierarchies := null, weights := null) as table
from query(list_transform(
    [sqlanon_lower_bound(current_database(), current_schema(), cast(to_json({
        source: source, quasi: quasi, k: k, hierarchies: hierarchies, weights: weights
    }) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
