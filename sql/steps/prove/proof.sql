-- One row: the size of the smallest class and how many there are, counted on the released values and nothing else.
select min(rows) as smallest, count(*) as classes, sum(rows) as rows
from (
    select count(*) as rows
    from __released__
    group by __printed__
)
