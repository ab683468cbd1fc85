-- One row: how many people of the source the release does not have, and how many of the release the source does not have.
-- Equal people are interchangeable.
select
    coalesce(sum(greatest(people - members, 0)), 0) as new_rows,
    coalesce(sum(greatest(members - people, 0)), 0) as deleted_rows
from (
    select __digest__, count(*) filter (where is_there) as people, count(*) filter (where not is_there) as members
    from (
        select __digest__, true as is_there
        from __people__
        union all
        select __digest__, false
        from __members__
    )
    group by __digest__
)
