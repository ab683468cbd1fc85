-- A row is one distinct tuple with its number and the rank of each of its values; numbered by rank, so that neither
-- the order of the rows nor the number of threads matters.
select
    row_number() over (order by {ranks}) - 1 as tuple,
    tuples.*,
    {rank_columns}
from tuples
{joins}
