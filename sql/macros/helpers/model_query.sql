-- The text of a query with a row per class of t: its quasi-identifier values as q1, q2, ..., and what it reaches of a
-- model. NULL is a value of its own.
create or replace macro anon.model_query(
    t, quasi, sensitive, model, c := 1, distance := 'equal', hierarchy := null
) as (
    case
        when coalesce(len(quasi), 0) = 0 then error('sqlanon: quasi is empty: name at least one column')
        when distance = 'hierarchical' and hierarchy is null then
            error('sqlanon: distance is hierarchical: name the hierarchy, hierarchy := ''...''')
        when model not in (__models__) then
            error('sqlanon: Unknown model ''' || model || ''' (models: ' || array_to_string([__models__], ', ') || ')')
        when model = 't' and distance not in (__distances__) then
            error('sqlanon: distance is ''' || distance || '''; it must be one of ' || array_to_string([__distances__], ', '))
        else __query__
    end
);
