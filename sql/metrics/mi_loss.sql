-- The mi_loss of a stored release, see anon.utility.
create or replace macro anon.mi_loss(r) as (
    select value
    from anon.utility(r)
    where measure = 'mi_loss'
);
