-- A row is one group and its middle value: half of its rows are not above it. NULLs are left out.
-- Reads: encoded, members.
select group_id, arg_min(value, rank) as center
from (
    select
        members.group_id,
        __domain__.value,
        __domain__.rank,
        sum(members.rows) over (partition by members.group_id order by __domain__.rank) as so_far,
        sum(members.rows) over (partition by members.group_id) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join __domain__ on __domain__.rank = encoded.__rank__ and __domain__.value is not null
)
where 2 * so_far >= rows
group by group_id
