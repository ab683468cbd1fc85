-- A row is one distinct combination of quasi-identifier values (and of sensitive values, where the core must see them)
-- and how many rows of the source hold it; 0 where only rows that are not to be released do.
-- Reads: source.
select
    __columns__,
    __rows__ as rows
from source
group by all
