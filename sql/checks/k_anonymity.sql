-- The size of the smallest class: t is k-anonymous for every k up to it. NULL for an empty table.
create or replace macro anon.k_anonymity(t, quasi) as (
    select min(class_size)
    from query(anon.class_query(t, quasi, 'count(*)')) as classes(class_size)
);
