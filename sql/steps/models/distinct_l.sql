-- A row is a class, and how many distinct sensitive values it has.
select __classes__, count(*) as reached
from (__counted__)
group by __classes__
