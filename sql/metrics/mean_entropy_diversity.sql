-- The mean_entropy_diversity of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.mean_entropy_diversity(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'mean_entropy_diversity' and lower("column") = lower(sensitive)
);
