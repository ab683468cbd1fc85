-- A row is a size of classes and how many classes have it.
select size, count(*) as classes
from (
    select count(*) as size
    from __relation__
    group by __printed__
)
group by size
order by size
