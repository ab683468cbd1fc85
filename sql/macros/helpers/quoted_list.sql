-- Column names as SQL: quoted, separated by commas.
create or replace macro anon.quoted_list(columns_named) as (
    array_to_string(list_transform(columns_named, lambda c: '"' || replace(c, '"', '""') || '"'), ', ')
);
