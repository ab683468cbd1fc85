-- The dm of a stored release, see anon.utility.
create or replace macro anon.dm(r) as (
    select value
    from anon.utility(r)
    where measure = 'dm'
);
