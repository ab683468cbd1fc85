-- A row is one value at one level: 4350 is 435* at level 1, 43** at 2, 4*** at 3. Shorter codes end earlier.
with longest as (
    select max(length(label)) as characters
    from __domain__
),
steps as (
    select unnest(range(1, characters)) as level, characters
    from longest
)
select rank, cast(level as integer) as level, left(label, characters - level) || repeat('*', level) as label
from __domain__, steps
where value is not null
