-- The size of the smallest class: t is k-anonymous for every k up to it. With an entity, people are counted instead of
-- rows, by that column of t. NULL for an empty table.
create or replace macro anon.k_anonymity(t, quasi, entity := null) as (
    select min(class_size)
    from query(anon.class_query(t, quasi, anon.size_text(entity))) as classes(class_size)
);
