-- A row is one tuple with the groups that its rows are dealt to, in turn.
-- Reads: clustered.
select entry.tuple as tuple, entry.deal as deal
from (
    select unnest(answer.deals) as entry
    from clustered
    where case when answer.error is null then true else error(answer.error) end
)
