-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select __named__, __sensitive__ as v, count(*) as n
from __relation__
group by all
