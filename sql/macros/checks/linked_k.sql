-- How many people share the rarest set of rows: whoever knows all rows of a person finds at least this many people in t
-- with the same ones. k_anonymity with an entity counts the people of each class by itself. NULL for an empty table.
create or replace macro anon.linked_k(t, quasi, entity) as (
    select min(persons)
    from query(anon.linked_query(t, quasi, entity)) as histories(persons, rows)
);
