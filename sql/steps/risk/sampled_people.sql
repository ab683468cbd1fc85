-- A row is a person of the source, drawn at random where there are many: salted digests of their values, and how many
-- rows of the source equal theirs. NULL is a value.
with drawn as materialized (
    select __digests__, hash(__columns__) as sqlanon_hash
    from __drawn__
),
equal as (
    select hash(__columns__) as sqlanon_hash, count(*) as copies
    from __source__
    where hash(__columns__) in (select drawn.sqlanon_hash from drawn)
    group by 1
)
select drawn.* exclude (sqlanon_hash), equal.copies
from drawn
join equal on equal.sqlanon_hash = drawn.sqlanon_hash
