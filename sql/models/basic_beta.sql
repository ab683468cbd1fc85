-- A row is a class, and the most that a sensitive value's share gains there, relative to its share of the table.
select {classes}, max(share / expected) - 1 as reached
from ({shares})
group by {classes}
