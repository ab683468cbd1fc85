-- A row is a row of the release. The planner turns the request into one query while this one is bound; the query runs
-- in the caller's transaction and fails rather than return a release that breaks k.
create or replace macro anon.anonymize(source, {parameters}) as table
from query(sqlanon_plan(current_database(), current_schema(), cast(to_json({{request}}) as varchar)));
