-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it.
select
    {columns},
    count(*) as rows
from source
group by all
