-- A row is a cohort from which those who left can be withdrawn: nobody of it stays, or those who left and those who
-- stay are k or more each; and it is not one of the broken ones, of which a part does not satisfy the policy. Whoever
-- compares two versions then finds everybody in a group of k.
select __cohort__
from __members__
group by __cohort__
having bool_or(__has_left__)
    and (
        bool_and(__has_left__)
        or least(
            count(*) filter (where __has_left__),
            count(*) filter (where not __has_left__)
        ) >= __k__
    )
    and __cohort__ not in (select cohort from (__broken__))
