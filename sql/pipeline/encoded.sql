-- A row is one distinct tuple with its number, the rank of each of its values and the codes of its sensitive values;
-- numbered by them, so that neither the order of the rows nor the number of threads matters.
select
    row_number() over (order by {order}) - 1 as tuple,
    tuples.*,
    {columns}
from tuples
{joins}
{part}
