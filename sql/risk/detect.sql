-- A row is a column of t with a suggested role and the reason, or one of the smallest sets of columns in which more than a
-- share of the rows have a combination of values of their own: how many combinations there are, per row (distinction), the
-- share of pairs of rows that differ (separation; both of Motwani & Xu 2007, as ARX shows them) and of rows that are unique.
-- NULL is a value. The counting happens while this query is bound; it shows no values.
create or replace macro anon.detect(t, size := 3, share := 0.05) as table
from query(list_transform(
    [sqlanon_detect(current_database(), current_schema(), cast(to_json({t: t, size: size, share: share}) as varchar))],
    lambda p: case when starts_with(p, '!') then error(substr(p, 2)) else p end
)[1]);
