-- One row: how many classes have one sensitive value in all their rows, and how many rows they hold.
select count(*) as classes, coalesce(sum(rows), 0)::bigint as rows
from (
    select sum(n) as rows
    from ({counted})
    group by {classes}
    having count(*) = 1
)
