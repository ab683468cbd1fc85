-- A row is somebody who was ever in a view, some columns of theirs, and the number of their history. People of one
-- history were in the same classes in all versions: intersections, unions and differences of versions do not tell them
-- apart.
with members as materialized (
    __members__
),
shown_in as (
    __shown_in__
),
versions as (
    select sqlanon_row, list(struct_pack(version := version, labels := labels) order by version) as history
    from shown_in
    group by sqlanon_row
)
select dense_rank() over (order by versions.history) as history, __columns__
from versions
join members on members.sqlanon_row = versions.sqlanon_row
order by versions.sqlanon_row
