-- A row is a sensitive value in a class, and its rows there. NULL is a value of its own.
select {named}, {sensitive} as v, count(*) as n
from {relation}
group by all
