-- A row is one tuple in one group: this many of its rows, from the `first`, counted from 1. `is_shared` says that other
-- rows of the tuple are in other groups.
-- Reads: clustered.
select entry.tuple, entry.group_id, entry.rows, entry.first, count(*) over (partition by entry.tuple) > 1 as is_shared
from (
    select unnest(answer.deals) as entry
    from clustered
    where case when answer.error is null then true else error('sqlanon: ' || answer.error) end
)
