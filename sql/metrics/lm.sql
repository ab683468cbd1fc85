-- The lm of a stored release, see anon.utility.
create or replace macro anon.lm(r) as (
    select value
    from anon.utility(r)
    where measure = 'lm'
);
