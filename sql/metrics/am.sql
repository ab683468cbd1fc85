-- The am of a stored release, see anon.utility.
create or replace macro anon.am(r) as (
    select value
    from anon.utility(r)
    where measure = 'am'
);
