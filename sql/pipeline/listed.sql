-- A row is one group and its sensitive values, as a map from value to how many rows of the group have it. NULL is left
-- out: the counts then fall short of the rows, which the proof finds.
select {group}, map_from_entries(list(struct_pack(key := value, value := rows) order by value)) as counts
from (
    select {group}, {value} as value, cast({rows} as bigint) as rows
    from {relation}
    where {value} is not null
    group by {group}, {value}
)
group by {group}
