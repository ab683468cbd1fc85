-- The text of a query with a row per class of t: its rows, and how many people of the population share its values, which
-- are its own rows where no population is given. A class that the population lacks, or holds fewer rows of, counts with its
-- own rows: t's people are some of the population. NULL is a value of its own.
create or replace macro anon.risk_query(t, quasi, population) as (
    case when coalesce(len(quasi), 0) = 0 then error('sqlanon: quasi is empty: name at least one column')
    when population is null then anon.class_query(t, quasi, 'count(*), count(*)')
    else
    'select sample.n, greatest(sample.n, coalesce(people.n, 0)) from ('
    || anon.class_query(t, quasi, anon.quoted_list(quasi) || ', count(*)')
    || ') as sample(' || array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ') || ', n) left join ('
    || anon.class_query(population, quasi, anon.quoted_list(quasi) || ', count(*)')
    || ') as people(' || array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ') || ', n) on '
    || array_to_string(list_transform(quasi, lambda q, i: 'sample.q' || i || ' is not distinct from people.q' || i), ' and ')
    end
);
