-- The largest l for which t is l-diverse: the smallest over classes of 1 / share of the most frequent sensitive value,
-- as He et al. 2012 and Goldberger & Tassa 2010 define it. NULL for an empty table.
create or replace macro anon.l_diversity(t, quasi, sensitive) as (
    select min(reached)
    from query(anon.model_query(t, quasi, sensitive, 'l'))
);
