-- Column names as SQL, renamed to q1, q2 and so on.
create or replace macro anon.numbered_list(columns_named) as (
    array_to_string(list_transform(columns_named, lambda c, i: '"' || replace(c, '"', '""') || '" as q' || i), ', ')
);
