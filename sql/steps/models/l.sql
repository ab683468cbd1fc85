-- A row is a class, and 1 / the share of its most frequent sensitive value (papers 000 and 002).
select __classes__, sum(n) / max(n) as reached
from (__counted__)
group by __classes__
