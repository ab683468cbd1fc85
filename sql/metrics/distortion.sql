-- The distortion of a stored release, see anon.utility.
create or replace macro anon.distortion(r, beta := 0) as (
    select value
    from anon.utility(r, beta := beta)
    where measure = 'distortion'
);
