-- One row: the l-diversity of a printed table in one sensitive column, 1 / the largest share in any class.
select min(rows / most_frequent) as l
from (
    select sum(counted) as rows, max(counted) as most_frequent
    from (
        select {printed}, count(*) as counted
        from {released}
        group by {printed}, {sensitive}
    )
    group by {printed}
)
