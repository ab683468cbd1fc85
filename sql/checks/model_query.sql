-- The text of a query with a row per class of t: its quasi-identifier values as q1, q2, ..., and what it reaches of a
-- model. NULL is a value of its own.
create or replace macro anon.model_query(
    t, quasi, sensitive, model, c := 1, distance := 'equal', hierarchy := null
) as (
    case
        when coalesce(len(quasi), 0) = 0 then error('quasi is empty: name at least one column')
        when distance = 'hierarchical' and hierarchy is null then
            error('distance is hierarchical: name the hierarchy, hierarchy := ''...''')
{cases}
        when model = 't' then error('distance is ''' || distance || '''; it must be one of {distances}')
        else error('Unknown model ''' || model || ''' (models: {models})')
    end
);
