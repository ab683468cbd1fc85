-- What counts a class, as SQL: its rows, or its people by the column of an entity.
create or replace macro anon.size_text(entity) as (
    case when entity is null then 'count(*)' else 'count(distinct ' || anon.quoted_list([entity]) || ')' end
);
