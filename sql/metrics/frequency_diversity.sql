-- The frequency_diversity of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.frequency_diversity(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'frequency_diversity' and lower("column") = lower(sensitive)
);
