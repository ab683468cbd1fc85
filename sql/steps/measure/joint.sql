-- A row is one rank of an attribute with one sensitive value, and how many rows of the source have both.
-- Reads: source.
select __column__ as attribute, domain.rank, counted.value, counted.rows
from (
    select __quasi__ as quasi, __value__ as value, count(*) as rows
    from source
    group by all
) as counted
join __domain__ as domain on domain.value is not distinct from __key__
