-- A row is the people who were in the same classes in all versions of a view: as far as intersections, unions and
-- differences of its versions get. How many they are, and how many values of a column they have; NULL where it is blank.
-- Before a cohort was parted, its people had the labels of its parent.
with recursive homes as (
    select sqlanon_row, sqlanon_value, sqlanon_is_blank, __cohort__ as home, cast(null as integer) as until
    from __members__
    union all
    select homes.sqlanon_row, homes.sqlanon_value, homes.sqlanon_is_blank, cohorts.parent, cohorts.born
    from homes
    join (__cohorts__) as cohorts on cohorts.cohort = homes.home
    where cohorts.parent is not null
),
histories as (
    select
        homes.sqlanon_row,
        any_value(homes.sqlanon_value) as sqlanon_value,
        any_value(homes.sqlanon_is_blank) as sqlanon_is_blank,
        list(struct_pack(version := labels.__version__, label := __label__) order by labels.__version__) as history
    from homes
    join __labels__ as labels on labels.__cohort__ = homes.home
        and (homes.until is null or labels.__version__ < homes.until)
    group by homes.sqlanon_row
)
select count(*) as rows, case when not bool_or(sqlanon_is_blank) then count(distinct sqlanon_value) end as values
from histories
group by history
