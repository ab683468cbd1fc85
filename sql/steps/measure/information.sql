-- One row for an attribute and a sensitive column: the sums over rows of log2 Pr(sensitive value), of the same given
-- what is released, and given the original value. Probabilities are those of the source.
-- Reads: printed.
with joint as (
    __joint__
)
select
    __column__ as attribute,
    __sensitive__ as sensitive,
    (select sum(rows * log2(rows / n)) from (select sum(rows) as rows from joint group by value)) as prior,
    (select sum(rows * log2(rows / total)) from (select rows, sum(rows) over (partition by rank) as total from joint))
        as original,
    (
        select sum(rows * log2(hits / mass))
        from (
            select printed.label, printed.value, any_value(printed.rows) as rows, any_value(known.mass) as mass,
                sum(joint.rows) as hits
            from (
                select __label__ as label, __value__ as value, count(*) as rows
                from printed
                group by all
            ) as printed
            join __known__ as known on known.label is not distinct from printed.label
            join joint on joint.rank between known.lo and known.hi and joint.value is not distinct from printed.value
            group by printed.label, printed.value
        )
    ) as printed
from (select sum(rows) as n from joint)
