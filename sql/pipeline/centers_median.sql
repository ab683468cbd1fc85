-- A row is one group and its middle value: half of its rows are not above it. NULLs are left out.
select group_id, arg_min(value, rank) as center
from (
    select
        members.group_id,
        {domain}.value,
        {domain}.rank,
        sum(members.rows) over (partition by members.group_id order by {domain}.rank) as so_far,
        sum(members.rows) over (partition by members.group_id) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join {domain} on {domain}.rank = encoded.{rank} and {domain}.value is not null
)
where 2 * so_far >= rows
group by group_id
