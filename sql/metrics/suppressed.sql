-- The share of suppressed rows of a stored release, see anon.utility.
create or replace macro anon.suppressed(r) as (
    select value
    from anon.utility(r)
    where measure = 'suppressed'
);
