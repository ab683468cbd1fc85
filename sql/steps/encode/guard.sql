-- One row: what is wrong with the data, in words, or NULL. Counts only, no values.
-- Reads: encoded, source.
select case
    when rows = 0 then 'The source has no rows.'
    when counted < __k__ then __too_few__ || format('{:,}', counted::bigint) || if(counted = 1, ' row', ' rows')
        || ': ask for a smaller k.'
    else __problem__
end as message
from (
    select coalesce(sum(rows), 0) as rows, coalesce(sum(__counted__), 0) as counted, __counts__
    from encoded
), (
    select __uniques__
    from source
)
