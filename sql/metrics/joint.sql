-- A row is one rank of an attribute with one sensitive value, and how many rows of the source have both.
select domain.rank, counted.value, counted.rows
from (
    select {quasi} as quasi, {value} as value, count(*) as rows
    from source
    group by all
) as counted
join {domain} as domain on domain.value is not distinct from {key}
