-- One row: gcp is what any k-anonymous release of the source loses at least, and how says how it was found.
create or replace macro anon.lower_bound(source, quasi := null, k := 5, hierarchies := null, weights := null) as table
from query(list_transform(
    [sqlanon_lower_bound(current_database(), current_schema(), cast(to_json({
        source: source, quasi: quasi, k: k, hierarchies: hierarchies, weights: weights
    }) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
