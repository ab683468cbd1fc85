-- One row: how many rows there are, and a sum that other rows would not give, whatever their order. NULL is a value.
select count(*), cast(coalesce(sum(cast(hash(__columns__) as hugeint)), 0) as varchar)
from __source__
