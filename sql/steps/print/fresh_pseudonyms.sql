-- A row is a row of the release, with a pseudonym that stands for its person in its class only. Where fewer than k people
-- of a class have as many rows in it as somebody, that number would tell who it is: every row has a pseudonym of its own.
with counted as (
    select *, count(*) over (partition by __labels__, __entity__) as sqlanon_rows
    from __rows__
),
alike as (
    select *, count(*) over (partition by __labels__, sqlanon_rows) / sqlanon_rows as sqlanon_people
    from counted
),
freed as (
    select * replace (
        sqlanon_pseudonym(
            __key__,
            case
                when min(sqlanon_people) over (partition by __labels__) >= __k__ then __text__
                else cast(uuid() as varchar)
            end
        ) as __entity__
    )
    from alike
)
select __columns__
from freed
order by sqlanon_shuffle(cast(sqlanon_rows as bigint))
