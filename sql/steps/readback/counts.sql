-- A row is one rank of the attribute, and how many rows of the source have it.
-- Reads: tuples.
select domain.rank, sum(tuples.rows) as rows
from tuples
join __domain__ as domain on domain.value is not distinct from __key__
where tuples.rows > 0
group by domain.rank
