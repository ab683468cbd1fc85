-- A row is a member of the view, released or not, with whether the person has left the source, the digest of their
-- quasi-identifiers now (NULL if they left), and what is known of their cohort; nobody is shown of those left out. Of
-- equal people as many have left as there are fewer of them in the source.
select
    members.* exclude (sqlanon_copy),
    members.sqlanon_copy > coalesce(there.people, 0) as __has_left__,
    case when members.sqlanon_copy <= coalesce(there.people, 0) then there.state end as __now__,
    coalesce(cohorts.is_blank, false) as __is_blank__,
    coalesce(cohorts.is_shown, false) as __was_shown__,
    coalesce(cohorts.is_erased, true) as __is_erased__
from (
    select *, row_number() over (partition by __digest__ order by __cohort__) as sqlanon_copy
    from __members__
) as members
left join (
    select __digest__, count(*) as people, any_value(__state__) as state
    from __people__
    group by __digest__
) as there on there.__digest__ = members.__digest__
left join (__cohorts__) as cohorts on cohorts.cohort = members.__cohort__
