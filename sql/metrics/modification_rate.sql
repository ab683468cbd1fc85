-- The modification_rate of a stored release, see anon.utility.
create or replace macro anon.modification_rate(r) as (
    select value
    from anon.utility(r)
    where measure = 'modification_rate'
);
