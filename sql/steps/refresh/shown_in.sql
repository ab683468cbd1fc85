-- A row is somebody who was ever in a view, and one version: the labels that their class had in it.
-- Before a cohort was parted, its people had the labels of its parent.
-- Reads: members.
with recursive homes as (
    select sqlanon_row, __cohort__ as home, cast(null as integer) as until
    from members
    union all
    select homes.sqlanon_row, cohorts.parent, cohorts.born
    from homes
    join (__cohorts__) as cohorts on cohorts.cohort = homes.home
    where cohorts.parent is not null
)
select homes.sqlanon_row, labels.__version__ as version, __label__ as labels
from homes
join __labels__ as labels on labels.__cohort__ = homes.home
    and (homes.until is null or labels.__version__ < homes.until)
