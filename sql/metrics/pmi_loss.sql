-- The pmi_loss of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.pmi_loss(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'pmi_loss' and lower("column") = lower(sensitive)
);
