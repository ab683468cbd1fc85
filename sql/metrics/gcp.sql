-- The gcp of a stored release, see anon.utility.
create or replace macro anon.gcp(r) as (
    select value
    from anon.utility(r)
    where measure = 'gcp'
);
