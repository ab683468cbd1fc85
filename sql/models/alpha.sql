-- A row is a class, and the share of its most frequent sensitive value.
select {classes}, max(n) / sum(n) as reached
from ({counted})
group by {classes}
