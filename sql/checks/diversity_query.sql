-- The text of a query with a row per class of t: its rows, its distinct sensitive values, the rows of the most
-- frequent one, and the sum of count · ln(count) over them. NULL is a value of its own.
create or replace macro anon.diversity_query(t, quasi, sensitive) as (
    case when coalesce(len(quasi), 0) = 0 then error('quasi is empty: name at least one column') else
    'select sum(n), count(*), max(n), sum(n * ln(n)) from ('
    || anon.class_query(t, list_append(quasi, sensitive), anon.quoted_list(quasi) || ', count(*)')
    || ') as counted(' || array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ') || ', n) group by '
    || array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ')
    end
);
