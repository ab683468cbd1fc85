-- A row is a value in the worst part that a cohort could be parted into: as many people as are away, or as are not, with
-- the most frequent of the cohort's released values. If this part keeps a model, every part of that size does.
select __cohort__, sqlanon_part, __value__
from (
    select
        members.*,
        parts.sqlanon_part,
        parts.sqlanon_size,
        row_number() over (
            partition by members.__cohort__, parts.sqlanon_part
            order by members.sqlanon_frequency desc, members.__value__
        ) as sqlanon_place
    from (
        select __cohort__, __value__, count(*) over (partition by __cohort__, __value__) as sqlanon_frequency
        from __members__
        where not __is_blank__ and not __is_erased__
    ) as members
    join (
        select __cohort__, __away__ as sqlanon_part, count(*) as sqlanon_size
        from __members__
        group by __cohort__, __away__
    ) as parts on parts.__cohort__ = members.__cohort__
)
where sqlanon_place <= sqlanon_size
