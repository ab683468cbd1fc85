-- One row: what is wrong with the data, in words, or NULL. Counts only, no values.
select case
    when rows = 0 then 'The source has no rows.'
    when counted < {k} then 'k is {k}, but the {people} has only ' || counted || ' rows: ask for a smaller k.'
    {conditions}
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum({counted}), 0) as counted, {counts}
    from encoded
), (
    select {uniques}
    from source
)
