-- The smallest t for which t is t-close: the largest distance of a class's sensitive values to the whole table's, 'equal',
-- 'ordered' or 'hierarchical' by a stored hierarchy. NULL for an empty table.
create or replace macro anon.t_closeness(t, quasi, sensitive, distance := 'equal', hierarchy := null) as (
    select max(reached)
    from query(anon.model_query(t, quasi, sensitive, 't', distance := distance, hierarchy := hierarchy))
);
