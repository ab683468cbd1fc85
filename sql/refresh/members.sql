-- A row is a row of the release with the digest of its person, its cohort (the rows that print the same and were added in
-- the same version) and whether the person has left the source. Of equal people as many have left as there are fewer of
-- them in the source.
select
    members.* exclude (sqlanon_copy),
    members.sqlanon_copy > coalesce(there.people, 0) as sqlanon_has_left
from (
    select
        *,
        dense_rank() over (order by {printed}, sqlanon_added) as sqlanon_cohort,
        row_number() over (partition by sqlanon_digest order by {printed}, sqlanon_added) as sqlanon_copy
    from {members}
) as members
left join (
    select sqlanon_digest, count(*) as people
    from {people}
    group by sqlanon_digest
) as there on there.sqlanon_digest = members.sqlanon_digest
