-- A row is a row of the release. The planner turns the request into one query while this one is bound; the query runs
-- in the caller's transaction and fails rather than return a release that breaks k. A complaint of the planner's stands
-- behind a ! and is raised while binding.
create or replace macro anon.anonymize(source, {parameters}) as table
from query(list_transform(
    [sqlanon_plan(current_database(), current_schema(), cast(to_json({{request}}) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
