-- One row for an attribute without a hierarchy: the rows of the source, and the sum over values of rows · log2(rows).
select __column__ as attribute, cast(null as integer) as level, cast(null as integer) as height, sum(rows) as rows,
    sum(rows * log2(rows)) as logarithms
from __counts__
