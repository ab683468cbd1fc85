-- One row: the l-diversity of groups whose sensitive values are listed with counts, 1 / the largest share in any group;
-- 0 where a group's list is missing, or not of as many values as the group has rows.
select min(case when __group__ is not null and lists = 1 and listed = rows then rows / most_frequent else 0 end) as reached
from (
    select
        __group__,
        count(*) as rows,
        count(distinct __sensitive__) as lists,
        list_sum(map_values(any_value(__sensitive__))) as listed,
        list_max(map_values(any_value(__sensitive__))) as most_frequent
    from __released__
    group by __group__
)
