-- The smallest beta for which t has basic beta-likeness: the most that a sensitive value's share gains in a class, relative
-- to its share of the table. NULL for an empty table.
create or replace macro anon.basic_beta_likeness(t, quasi, sensitive) as (
    select max(reached)
    from query(anon.model_query(t, quasi, sensitive, 'basic_beta'))
);
