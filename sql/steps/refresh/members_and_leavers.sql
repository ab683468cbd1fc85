-- A row is a row of the release with the digest of its person, its cohort (the rows that print the same and were added in
-- the same version) and whether the person has left the source. Of equal people as many have left as there are fewer of
-- them in the source.
select
    members.* exclude (sqlanon_copy),
    members.sqlanon_copy > coalesce(there.people, 0) as __has_left__
from (
    select
        *,
        dense_rank() over (order by __printed__, __added__) as __cohort__,
        row_number() over (partition by __digest__ order by __printed__, __added__) as sqlanon_copy
    from __members__
) as members
left join (
    select __digest__, count(*) as people
    from __people__
    group by __digest__
) as there on there.__digest__ = members.__digest__
