-- One row: the Kullback-Leibler divergence, in bits, of the printed distribution over combinations of values from the
-- original one. A printed class spreads its rows evenly over all combinations that it covers. NULL where tuples ×
-- classes are too many to compare.
select case when too_many then null else (
    select sum(original.rows / n * log2(original.rows / n / printed_share))
    from (
        select encoded.tuple, any_value(encoded.rows) as rows, sum(boxes.rows / n / ({combinations})) as printed_share
        from encoded
        join boxes on {covers}
        where not too_many
        group by encoded.tuple
    ) as original
) end as divergence
from (
    select sum(rows) as n, count(*) * (select count(*) from boxes) > {most_pairs} as too_many
    from encoded
)
