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
),
-- A row is a rank with a value, and the rows of that value up to there: no label needs a row for each of its ranks.
added as (
    select attribute, value, rank, sum(rows) over (partition by attribute, value order by rank) as rows
    from joint
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
        select told.attribute, told.rows, known.mass, coalesce(upto.rows, 0) - coalesce(below.rows, 0) as hits
        from told
        join known on known.attribute = told.attribute and known.label is not distinct from told.label
        asof left join added as upto on upto.attribute = told.attribute
            and upto.value is not distinct from told.value and upto.rank <= known.hi
        asof left join added as below on below.attribute = told.attribute
            and below.value is not distinct from told.value and below.rank < known.lo
    )
    where hits > 0
    group by attribute
) using (attribute)
