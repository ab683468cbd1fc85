-- A row is one tuple in one group, and how many of its rows are there.
-- Reads: deals, encoded.
select dealt.tuple, dealt.group_id, case when any_value(dealt.turns) = 1 then any_value(encoded.rows) else count(*) end as rows
from (
    select tuple, unnest(deal) as group_id, len(deal) as turns
    from deals
) as dealt
join encoded on encoded.tuple = dealt.tuple
group by dealt.tuple, dealt.group_id
