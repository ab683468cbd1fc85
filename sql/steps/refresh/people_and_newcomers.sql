-- A row is a person of the source: what the policy reads of them, their digests, and whether they are new. Equal people
-- are interchangeable, so as many of them are new as there are more of them than the ledger has.
select
    people.* exclude (sqlanon_copy),
    people.sqlanon_copy > coalesce(known.members, 0) as __is_new__
from (
    select *, row_number() over (partition by __digest__) as sqlanon_copy
    from __people__
) as people
left join (
    select __digest__, count(*) as members
    from __members__
    group by __digest__
) as known on known.__digest__ = people.__digest__
