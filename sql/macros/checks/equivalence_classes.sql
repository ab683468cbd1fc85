-- A row is one class of t: its quasi-identifier values and its size, the smallest first. NULL is a value of its own.
create or replace macro anon.equivalence_classes(t, quasi) as table (
    select *
    from query(anon.class_query(
        t,
        quasi,
        coalesce(anon.quoted_list(quasi), '') || ', count(*) as class_size',
        ending := ' order by count(*), ' || coalesce(anon.quoted_list(quasi), '')
    ))
);
