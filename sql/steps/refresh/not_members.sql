-- A row is a person of the source who is not among the members. Of equal people as many are not as there are more of
-- them in the source.
select people.__digest__, people.__state__
from (
    select __digest__, __state__, row_number() over (partition by __digest__) as sqlanon_copy
    from __people__
) as people
left join (
    select __digest__, count(*) as members
    from __members__
    group by __digest__
) as known on known.__digest__ = people.__digest__
where people.sqlanon_copy > coalesce(known.members, 0)
