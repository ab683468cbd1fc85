-- One row: how many classes have one sensitive value in all their rows, and how many rows they hold.
select count(*) as classes, coalesce(sum(rows), 0)::bigint as rows
from (
    select sum(n) as rows
    from (__counted__)
    group by __classes__
    having count(*) = 1
)
