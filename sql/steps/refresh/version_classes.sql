-- A row is a class of one version of a view: its labels, and how many rows had them.
with members as materialized (
    __members__
)
select version, labels, count(*) as rows
from (
    __shown_in__
)
where __is_kept__
group by version, labels
