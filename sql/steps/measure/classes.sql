-- A row is one size of class: how many released classes have it, and the sum over them of the combinations of values
-- that a row of the class may stand for. The class that prints nothing but * is suppressed.
-- Reads: boxes.
select rows as size, count(*) as classes, is_suppressed, sum(__combinations__) as combinations
from boxes
group by all
