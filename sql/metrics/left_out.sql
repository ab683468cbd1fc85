-- A row is a row of the source that the release lacks, as its sensitive values say: suppressed without being printed.
select {stars}, {values}true as is_left_out
from (
    select {kept}
    from source
    except all
    select {kept}
    from printed_rows
)
limit (select greatest((select count(*) from source) - (select count(*) from printed_rows), 0))
