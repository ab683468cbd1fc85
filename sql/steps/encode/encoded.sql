-- A row is one distinct tuple with its number, the rank of each of its values and the codes of its sensitive values;
-- numbered by them, so that neither the order of the rows nor the number of threads matters.
-- Reads: tuples.
select
    row_number() over (order by __order__) - 1 as tuple,
    tuples.*,
    __columns__
from __tuples_with_domains__
where __is_released__
