-- A row is a set of stored releases that read t, each pair and then all: with how many rows somebody is left who is sought in
-- all of them by their quasi-identifiers, t being as it is now (k_together), how many people with fewer than k, and how few
-- values of each sensitive column are left for somebody. The counting happens while this query is bound; it shows no values.
create or replace macro anon.audit(t) as table
from query(list_transform(
    [sqlanon_audit(current_database(), current_schema(), cast(to_json({t: t}) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
