-- The text of the query that a planner makes of a request while the macro's own query is bound; that query then runs in the
-- caller's transaction. A complaint of the planner's stands behind a ! and is raised while binding.
list_transform(
    [__planner__(current_database(), current_schema(), cast(to_json(__request__) as varchar))],
    lambda p: case when starts_with(p, '!') then error('sqlanon: ' || substr(p, 2)) else p end
)[1]
