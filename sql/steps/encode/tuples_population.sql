-- A row is one distinct combination of quasi-identifier values, of the source or the population: how many rows of the
-- source hold it, how many people of the population, or rows if there are more of them, and how many more there are.
-- Reads: population, source.
select
    __columns__,
    sum(own)::bigint as rows,
    greatest(sum(own), sum(person))::bigint as people,
    greatest(sum(own) - sum(person), 0)::bigint as outside
from (
    select __columns__, 1 as own, 0 as person
    from source
    union all
    select __columns__, 0, 1
    from population
)
group by all
