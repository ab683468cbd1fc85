-- The mi_utility of a stored release, see anon.utility.
create or replace macro anon.mi_utility(r) as (
    select value
    from anon.utility(r)
    where measure = 'mi_utility'
);
