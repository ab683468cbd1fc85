-- A row is one value, as a leaf that stands alone: ranges of such an attribute are released by their two ends.
select __attribute__ as attribute, rank as lo, rank as hi, 0 as level, label, distance as place
from __domain__
