-- A row is a class, and the share of its most frequent sensitive value.
select __classes__, max(n) / sum(n) as reached
from (__counted__)
group by __classes__
