-- One row about a set of columns: its number, how many combinations of their values there are, how many rows have one of
-- their own, and how many pairs of rows differ. Hashes stand for the values, so NULL is one of them.
select
    __number__ as number,
    count(*) as combinations,
    count(*) filter (where n = 1) as unique_rows,
    (sum(n) * (sum(n) - 1) - sum(n * (n - 1))) / 2 as different_pairs
from (
    select cast(count(*) as hugeint) as n
    from __hashed__
    group by __columns__
)
