-- A row is what some classes reach of a model, and how many classes do.
select reached, count(*) as classes
from (__classes__)
group by reached
order by reached
