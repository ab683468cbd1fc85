-- One row: the l-diversity of groups whose sensitive values are listed with counts, 1 / the largest share in any group;
-- 0 where a group's list is missing, or not of as many values as the group has rows.
select min(case when {group} is not null and lists = 1 and listed = rows then rows / most_frequent else 0 end) as reached
from (
    select
        {group},
        count(*) as rows,
        count(distinct {sensitive}) as lists,
        list_sum(map_values(any_value({sensitive}))) as listed,
        list_max(map_values(any_value({sensitive}))) as most_frequent
    from {released}
    group by {group}
)
