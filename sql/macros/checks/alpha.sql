-- The smallest alpha for which t is (alpha, k)-anonymous: the largest share of a sensitive value in a class. NULL for an
-- empty table.
create or replace macro anon.alpha(t, quasi, sensitive) as (
    select max(reached)
    from query(anon.model_query(t, quasi, sensitive, 'alpha'))
);
