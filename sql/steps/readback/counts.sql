-- A row is one rank of the attribute, and how many rows of the source have it.
-- Reads: encoded.
select __rank__ as rank, sum(rows) as rows
from encoded
where rows > 0 and __rank__ is not null
group by __rank__
