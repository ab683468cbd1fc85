-- One row: how many people share the rarest set of released rows, and how many classes and rows there are, counted on the
-- released values and nothing else.
select
    min(people) as smallest,
    (select count(*) from (select distinct __printed__ from __released__)) as classes,
    cast(sum(people * rows) as bigint) as rows
from (
    select count(*) as people, any_value(len(history)) as rows
    from (
        select list_sort(list(struct_pack(__fields__))) as history
        from __released__
        group by __entity__
    )
    group by history
)
