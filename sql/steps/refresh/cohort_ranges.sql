-- A row is one cohort with the smallest and largest rank of each attribute among its members who are in the source.
-- Reads: source.
select source.__cohort__ as group_id, __bounds__
from __source_with_domains__
where source.__cohort__ is not null
group by source.__cohort__
