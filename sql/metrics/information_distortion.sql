-- The information_distortion of a stored release, see anon.utility.
create or replace macro anon.information_distortion(r) as (
    select value
    from anon.utility(r)
    where measure = 'information_distortion'
);
