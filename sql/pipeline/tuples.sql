-- A row is one distinct combination of quasi-identifier values, and how many rows of the source hold it.
select
    {quasi},
    count(*) as rows
from source
group by all
