-- The smallest delta for which t has delta-disclosure privacy: the largest |ln| of a share in a class over that in the
-- table; infinity where a class lacks a value. NULL for an empty table.
create or replace macro anon.delta_disclosure(t, quasi, sensitive) as (
    select max(reached)
    from query(anon.model_query(t, quasi, sensitive, 'delta'))
);
