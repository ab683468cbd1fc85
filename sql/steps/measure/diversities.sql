-- One row for a sensitive column: over the released classes, the rows that are not of their class's most frequent value
-- (all, if suppressed or left out), and the mean and smallest entropy (bits) and the smallest 1 / share of the most
-- frequent value of what is released.
-- Reads: printed.
select
    __sensitive__ as sensitive,
    sum(rows - case when is_suppressed then 0 else most end) as off_majority,
    avg(entropy) filter (where not is_left_out) as mean_entropy,
    min(entropy) filter (where not is_left_out) as least_entropy,
    min(rows / most) filter (where not is_left_out) as least_frequency
from (
    select
        sum(counted) as rows,
        max(counted) as most,
        greatest(log2(sum(counted)) - sum(counted * log2(counted)) / sum(counted), 0) as entropy,
        __is_suppressed__ as is_suppressed,
        is_left_out
    from (
        select __labels__, __value__, is_left_out, count(*) as counted
        from printed
        group by __labels__, __value__, is_left_out
    )
    group by __labels__, is_left_out
)
