-- The __noun__ of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.__macro__(__parameters__) as (
    select value
    from anon.utility(__arguments__)
    where measure = __measure__ and lower("column") = lower(sensitive)
);
