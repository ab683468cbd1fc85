-- The largest l for which t is entropy l-diverse: the smallest over classes of exp(entropy of the sensitive values).
-- NULL for an empty table.
create or replace macro anon.entropy_l_diversity(t, quasi, sensitive) as (
    select min(reached)
    from query(anon.model_query(t, quasi, sensitive, 'entropy_l'))
);
