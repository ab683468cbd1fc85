-- A row is one rank of the attribute, and how many rows of the source have it.
select domain.rank, sum(tuples.rows) as rows
from tuples
join {domain} as domain on domain.value is not distinct from {key}
where tuples.rows > 0
group by domain.rank
