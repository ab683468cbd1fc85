-- A row is one of the classes that lose most: its rows, its loss, and the column that loses most in it with that loss.
-- Classes that are suppressed are left out. A loss is a share of the column's range or hierarchy.
-- Reads: printed.
with classes as (
    select count(*) as rows, [__losses__] as losses, [__weighted__] as weighted
    from printed
    __joins__
    where not printed.is_left_out and not (__is_suppressed__)
    group by __labels__
)
select
    rows,
    list_sum(weighted) / __weights__ as loss,
    __columns__[list_position(weighted, list_max(weighted))] as "column",
    losses[list_position(weighted, list_max(weighted))] as share
from classes
where list_sum(weighted) > 0
order by loss desc, rows desc, "column"
limit __most__
