-- A row is one tuple in one cohort, and how many of its members in the source have it.
-- Reads: encoded, source.
select encoded.tuple, source.__cohort__ as group_id, count(*) as rows
from source
join encoded on __same__
where source.__cohort__ is not null
group by encoded.tuple, source.__cohort__
