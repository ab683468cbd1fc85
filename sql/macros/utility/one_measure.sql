-- The __noun__ of a stored release, see anon.utility.
create or replace macro anon.__macro__(__parameters__) as (
    select value
    from anon.utility(__arguments__)
    where measure = __measure__
);
