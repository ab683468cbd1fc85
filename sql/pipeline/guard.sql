-- One row: what is wrong with the data, in words, or NULL. Counts only, no values.
select case
    when rows = 0 then 'The source has no rows.'
    when rows < {k} then 'k is {k}, but the source has only ' || rows || ' rows: ask for a smaller k.'
    {conditions}
end as message
from (
    select coalesce(sum(rows), 0) as rows, {counts}
    from encoded
), (
    select {uniques}
    from source
)
