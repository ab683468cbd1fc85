-- A row is a person of the source: what the policy reads of them, their digest, and whether they are new. Equal people are
-- interchangeable, so as many of them are new as there are more of them than the release has. The new ones who have the
-- same sensitive values are numbered, in an order that nobody knows.
select
    * exclude (sqlanon_turn),
    row_number() over (partition by {alike} order by sqlanon_turn) as sqlanon_place
from (
    select
        people.* exclude (sqlanon_copy),
        people.sqlanon_copy > coalesce(known.members, 0) as sqlanon_is_new,
        sqlanon_shuffle(people.sqlanon_copy) as sqlanon_turn
    from (
        select *, row_number() over (partition by sqlanon_digest) as sqlanon_copy
        from {people}
    ) as people
    left join (
        select sqlanon_digest, count(*) as members
        from {members}
        group by sqlanon_digest
    ) as known on known.sqlanon_digest = people.sqlanon_digest
)
