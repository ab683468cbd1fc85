-- A row is a cohort that is parted into those who are away and the others: both are k or more, and it is not one of the
-- broken ones, of which a part of that size might break a model. No real part is looked at, only sizes and the values
-- that are released already.
select __cohort__
from __members__
where not __is_erased__
group by __cohort__
having least(count(*) filter (where __away__), count(*) filter (where not __away__)) >= __k__
    and __cohort__ not in (select cohort from (__broken__))
