-- A row is one class of t with fewer than k rows, or with an entity fewer than k people: what breaks the promise. No row:
-- t is k-anonymous.
create or replace macro anon.violations(t, quasi, k := 5, entity := null) as table (
    select *
    from query(anon.class_query(
        t,
        quasi,
        coalesce(anon.quoted_list(quasi), '') || ', ' || anon.size_text(entity) || ' as class_size',
        ending := ' having ' || anon.size_text(entity) || ' < ' || cast(k as bigint)
            || ' order by ' || anon.size_text(entity) || ', ' || coalesce(anon.quoted_list(quasi), '')
    ))
);
