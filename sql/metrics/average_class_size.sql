-- The average_class_size of a stored release, see anon.utility.
create or replace macro anon.average_class_size(r) as (
    select value
    from anon.utility(r)
    where measure = 'average_class_size'
);
