-- The minimum_entropy_diversity of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.minimum_entropy_diversity(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'minimum_entropy_diversity' and lower("column") = lower(sensitive)
);
