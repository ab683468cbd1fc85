-- The largest l for which t is recursively (c, l)-diverse; 0 where it is for none. NULL for an empty table.
create or replace macro anon.recursive_l_diversity(t, quasi, sensitive, c) as (
    select min(reached)
    from query(anon.model_query(t, quasi, sensitive, 'recursive_l', c := c))
);
