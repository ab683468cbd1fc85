-- The pmi_loss_max of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.pmi_loss_max(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'pmi_loss_max' and lower("column") = lower(sensitive)
);
