-- One row: how many classes have one sensitive value in all their rows, how many rows they hold, and the share of all
-- rows that have the most frequent value.
with counted as (
    __counted__
),
alone as (
    select sum(n) as rows
    from counted
    group by __classes__
    having count(*) = 1
),
frequencies as (
    select sum(n) as rows
    from counted
    group by v
)
select
    (select count(*) from alone) as classes,
    (select coalesce(sum(rows), 0)::bigint from alone) as rows,
    (select max(rows) / sum(rows) from frequencies) as overall
