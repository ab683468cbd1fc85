-- The precision of a stored release, see anon.utility.
create or replace macro anon.precision(r) as (
    select value
    from anon.utility(r)
    where measure = 'precision'
);
