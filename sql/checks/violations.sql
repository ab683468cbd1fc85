-- A row is one class of t with fewer than k rows: what breaks the promise. No row: t is k-anonymous.
create or replace macro anon.violations(t, quasi, k := 5) as table (
    select *
    from query(anon.class_query(
        t,
        quasi,
        coalesce(anon.quoted_list(quasi), '') || ', count(*) as class_size',
        ending := ' having count(*) < ' || cast(k as bigint) || ' order by count(*), ' || coalesce(anon.quoted_list(quasi), '')
    ))
);
