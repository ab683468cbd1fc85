-- The pmi_loss_l2 of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.pmi_loss_l2(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'pmi_loss_l2' and lower("column") = lower(sensitive)
);
