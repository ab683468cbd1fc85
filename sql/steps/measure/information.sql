-- A row is an attribute with one sensitive column: the sums over rows of log2 Pr(sensitive value), of the same given what
-- is released, and given the original value. Probabilities are those of the source.
with joint as (
    __joint__
),
told as (
    __told__
),
known as (
    __known__
)
select attribute, __sensitive__ as sensitive, prior, original, printed
from (
    select attribute, sum(rows * log2(rows / total)) as prior
    from (
        select attribute, sum(rows) as rows, sum(sum(rows)) over (partition by attribute) as total
        from joint
        group by attribute, value
    )
    group by attribute
)
left join (
    select attribute, sum(rows * log2(rows / total)) as original
    from (select attribute, rows, sum(rows) over (partition by attribute, rank) as total from joint)
    group by attribute
) using (attribute)
left join (
    select attribute, sum(rows * log2(hits / mass)) as printed
    from (
        select told.attribute, any_value(told.rows) as rows, any_value(known.mass) as mass, sum(joint.rows) as hits
        from told
        join known on known.attribute = told.attribute and known.label is not distinct from told.label
        join joint on joint.attribute = told.attribute and joint.rank between known.lo and known.hi
            and joint.value is not distinct from told.value
        group by told.attribute, told.label, told.value
    )
    group by attribute
) using (attribute)
