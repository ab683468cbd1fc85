-- One row: how many people the smallest class has rows of, and how many classes and rows there are, counted on the printed
-- values and nothing else.
select min(people) as smallest, count(*) as classes, sum(rows) as rows
from (
    select count(distinct __entity__) as people, count(*) as rows
    from __released__
    group by __printed__
)
