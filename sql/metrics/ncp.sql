-- The ncp of a stored release, see anon.utility.
create or replace macro anon.ncp(r) as (
    select value
    from anon.utility(r)
    where measure = 'ncp'
);
