-- The cm of a stored release in one sensitive column, see anon.utility.
create or replace macro anon.cm(r, sensitive) as (
    select value
    from anon.utility(r)
    where measure = 'cm' and lower("column") = lower(sensitive)
);
