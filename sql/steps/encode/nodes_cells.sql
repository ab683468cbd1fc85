-- A row is one value, as a leaf that stands alone, in the place where its cell begins, or a little behind it where a value
-- that is alone in its class is released as it is. Ranges of such an attribute are released from cell to cell, so that a
-- range loses what lies between its cells; what every range loses besides, one cell, is the same for all.
select
    __attribute__ as attribute,
    leaves.rank as lo,
    leaves.rank as hi,
    0 as level,
    leaves.label,
    cells.start + __within__ * cells.above as place
from __domain__ as leaves
join __cells__ as cells on cells.rank = leaves.rank
