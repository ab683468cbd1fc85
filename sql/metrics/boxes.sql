-- A row is one printed class: its rows and, for each attribute, the ranks that it covers.
select classes.rows, classes.is_suppressed, {bounds}
from (
    select {labels}, count(*) as rows, {is_suppressed} as is_suppressed
    from printed
    group by {labels}
) as classes
{joins}
