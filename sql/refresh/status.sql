-- A row is a stored release, or the one that is named: where it is from, its version, when it was made and refreshed, and how
-- many people of its source it does not print yet (new_rows) or prints still (deleted_rows). NULL where that cannot be told,
-- and the note says why, such as a source that is gone. The comparing happens while this query is bound, so it sees
-- committed rows only.
create or replace macro anon.status(release := null) as table
from query(list_transform(
    [sqlanon_status(current_database(), current_schema(), cast(to_json({release: release}) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
