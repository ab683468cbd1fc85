-- A row is a sensitive value in a class: its share there and in the whole table.
select
    {classes},
    v,
    n / sum(n) over (partition by {classes}) as share,
    sum(n) over (partition by v) / sum(n) over () as expected
from ({counted})
