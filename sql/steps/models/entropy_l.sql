-- A row is a class, and exp of the entropy of its sensitive values; rounded, as sums are taken in any order.
select __classes__, round(exp(ln(sum(n)) - sum(n * ln(n)) / sum(n)), 10) as reached
from (__counted__)
group by __classes__
