-- A row is a row of the source that the release lacks, as its sensitive values say: suppressed without being released.
-- Reads: printed_rows, source.
select __columns__
from (
    select __kept__
    from source
    except all
    select __kept__
    from printed_rows
)
limit (select greatest((select count(*) from source) - (select count(*) from printed_rows), 0))
