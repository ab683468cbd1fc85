-- One row: how many people of the source were never looked at, how many of those released the source does not have, and
-- how many of those released have other quasi-identifiers than when they got their labels. Equal people are
-- interchangeable.
select
    coalesce(sum(greatest(people - members, 0)), 0) as new_rows,
    coalesce(sum(least(released, greatest(members - people, 0))), 0) as deleted_rows,
    count(*) filter (where is_changed and people > 0 and released > 0) as changed_rows
from (
    select
        __digest__,
        count(*) filter (where is_there) as people,
        count(*) filter (where not is_there) as members,
        count(*) filter (where is_shown) as released,
        any_value(state) filter (where is_there)
        is distinct from any_value(state) filter (where not is_there) as is_changed
    from (
        select __digest__, __state__ as state, true as is_there, false as is_shown
        from __people__
        union all
        select __digest__, __state__, false, __is_shown__
        from __members__
    )
    group by __digest__
)
