-- The pmi_utility of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.pmi_utility(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'pmi_utility' and lower("column") = lower(sensitive)
);
