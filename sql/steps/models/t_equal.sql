-- A row is a class, and how much of its sensitive values' shares exceeds the table's: their distance if all values are
-- as far from each other. Rounded, as sums are taken in any order.
select __classes__, round(sum(greatest(share - expected, 0)), 10) as reached
from (__shares__)
group by __classes__
