-- A row is a class, and the most that a sensitive value's share gains there, relative to its share of the table.
select __classes__, max(share / expected) - 1 as reached
from (__shares__)
group by __classes__
