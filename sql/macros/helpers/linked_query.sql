-- The text of a query with a row per set of rows that people of t share: how many persons have exactly these rows, as far
-- as quasi goes, and how many rows each of them has. NULL is a value of its own; rows whose entity is NULL are one
-- person's.
create or replace macro anon.linked_query(t, quasi, entity) as (
    case
        when coalesce(len(quasi), 0) = 0 then error('quasi is empty: name at least one column')
        when entity is null then error('entity is missing: name the column that identifies a person')
        else
            'select count(*) as persons, any_value(len(history)) as rows from (select list_sort(list(struct_pack('
            || array_to_string(list_transform(quasi, lambda q, i: 'q' || i || ' := ' || anon.quoted_list([q])), ', ')
            || '))) as history from query_table(' || anon.quoted_text(t) || ') group by ' || anon.quoted_list([entity])
            || ') group by history'
    end
);
