-- The kl_divergence of a stored release, see anon.utility.
create or replace macro anon.kl_divergence(r) as (
    select value
    from anon.utility(r)
    where measure = 'kl_divergence'
);
