-- The pmi_loss_relative of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.pmi_loss_relative(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'pmi_loss_relative' and lower("column") = lower(sensitive)
);
