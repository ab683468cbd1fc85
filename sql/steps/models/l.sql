-- A row is a class, and 1 / the share of its most frequent sensitive value (He et al. 2012, Goldberger & Tassa 2010).
select __classes__, sum(n) / max(n) as reached
from (__counted__)
group by __classes__
