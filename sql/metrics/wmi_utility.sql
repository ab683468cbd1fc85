-- The wmi_utility of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.wmi_utility(r, sensitive, mi_weight := 0.5) as (
    select value
    from anon.utility(r, mi_weight := mi_weight)
    where measure = 'wmi_utility' and lower("column") = lower(sensitive)
);
