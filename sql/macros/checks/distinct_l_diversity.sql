-- The smallest number of distinct sensitive values in a class; NULL counts as a value. NULL for an empty table.
create or replace macro anon.distinct_l_diversity(t, quasi, sensitive) as (
    select min(reached)
    from query(anon.model_query(t, quasi, sensitive, 'distinct_l'))
);
