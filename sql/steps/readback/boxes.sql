-- A row is one released class: its rows and, for each attribute, the ranks that it covers.
-- Reads: printed.
with classes as (
    select __labels__, count(*) as rows, __is_suppressed__ as is_suppressed
    from printed
    group by __labels__
)
select classes.rows, classes.is_suppressed, __bounds__
from __classes_with_ranks__
