-- The least number of people of a population that a class of t covers: t is a k-map for every k up to it. t is read as
-- it is printed, the population as it is. With a source, values of its own are known as well, and its rows are people, too.
-- NULL for an empty table.
create or replace macro anon.k_map(t, quasi, population, source := null, hierarchies := null, ranges := 'text') as (
    select case when classes > 0 then smallest end
    from query(list_transform(
        [sqlanon_k_map(current_database(), current_schema(), cast(to_json({
        t: t, quasi: quasi, population: population, source: source, hierarchies: hierarchies, ranges: ranges
    }) as varchar))],
        lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
    )[1])
);
