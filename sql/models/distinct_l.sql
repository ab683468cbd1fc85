-- A row is a class, and how many distinct sensitive values it has.
select {classes}, count(*) as reached
from ({counted})
group by {classes}
