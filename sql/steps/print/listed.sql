-- A row is one group and its sensitive values, as a map from value to how many rows of the group have it. NULL is left
-- out: the counts then fall short of the rows, which the proof finds.
select __group__, map_from_entries(list(struct_pack(key := value, value := rows) order by value)) as counts
from (
    select __group__, __value__ as value, cast(__rows__ as bigint) as rows
    from __relation__
    where __value__ is not null
    group by __group__, __value__
)
group by __group__
