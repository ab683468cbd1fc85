-- A row is one measure of a release: its value, the sensitive column it looks at or NULL, formula and range, whether lower
-- or higher is better, where it is from, and why it is NULL where it is. All but the value comes from a map that
-- pipeline/metrics.py makes; a measure that the map lacks is left out.
select measure, value, "column", about.formula, about."range", about.better, about.source,
    case when value is null then about.missing end as note
from (
    select *, __about__[measure] as about
    from (__measured__)
)
where about is not null
