-- A row is a cohort from which those who left can be withdrawn: nobody of it stays, or those who left and those who stay are
-- k or more each; and none is among the broken ones, of which a part does not keep what is asked. Whoever compares two
-- versions then finds everybody among k.
select sqlanon_cohort
from {members}
group by sqlanon_cohort
having bool_or(sqlanon_has_left)
    and (
        bool_and(sqlanon_has_left)
        or least(
            count(*) filter (where sqlanon_has_left),
            count(*) filter (where not sqlanon_has_left)
        ) >= {k}
    )
    and sqlanon_cohort not in (select cohort from ({broken}))
