-- A row is one class of t that reaches less of a model than required, or more if less is better: its quasi-identifier
-- values and what it reaches, the worst first. No rows: t satisfies the model.
create or replace macro anon.model_violations(
    t, quasi, sensitive, model, asked, c := 1, distance := 'equal', hierarchy := null
) as table (
    select *
    from query(
        'select '
        || array_to_string(list_transform(quasi, lambda q, i: 'q' || i || ' as "' || replace(q, '"', '""') || '"'), ', ')
        || ', reached from ('
        || anon.model_query(t, quasi, sensitive, model, c := c, distance := distance, hierarchy := hierarchy)
        || case when model in (__floors__)
            then ') where reached < ' || (asked - 1e-9) || ' order by reached, '
            else ') where reached > ' || (asked + 1e-9) || ' order by reached desc, '
        end
        || array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ')
    )
);
