-- The distortion_ratio of a stored release, see anon.utility.
create or replace macro anon.distortion_ratio(r, beta := 0) as (
    select value
    from anon.utility(r, beta := beta)
    where measure = 'distortion_ratio'
);
