-- The text of a query with a row per class of t and the given aggregates of each; clauses may follow at its end. NULL is a value of its own. A name
-- that t lacks makes the query fail to bind; names fold case as DuckDB's do.
create or replace macro anon.class_query(t, quasi, aggregates, ending := '') as (
    case when coalesce(len(quasi), 0) = 0 then error('sqlanon: quasi is empty: name at least one column') else
        'select ' || aggregates || ' from query_table(''' || replace(t, '''', '''''') || ''') group by '
        || anon.quoted_list(quasi) || ending
    end
);
