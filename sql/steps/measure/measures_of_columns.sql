-- A row is one measure of a release that looks at a sensitive column, which it names, and its value. Lists are unnested,
-- which DuckDB plans in half the time of a lateral join.
-- Reads: measured.
with sizes as (
    select sum(size * classes) as rows
    from __classes__ as classes
),
public as (
    select value as mi_utility
    from measured
    where measure = 'mi_utility'
),
private as (
    select
        sensitive,
        -sum(printed) / rows / count(*) as pmi_loss,
        -sum(original) / rows / count(*) as pmi_loss_original,
        list((printed - prior) / rows) as printed,
        list((original - prior) / rows) as original
    from __information__ as information, sizes
    group by sensitive, rows
)
select entry.measure, sensitive as "column", entry.value
from (
    select *, unnest([
        {measure: 'pmi_loss', value: cast(pmi_loss as double)},
        {measure: 'pmi_loss_relative', value: cast(pmi_loss - pmi_loss_original as double)},
        {measure: 'pmi_utility', value: cast(list_avg(printed) as double)},
        {measure: 'pmi_utility_l2', value: cast(sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed) as double)},
        {measure: 'pmi_utility_max', value: cast(list_max(printed) as double)},
        {measure: 'pmi_loss_l2', value: cast(sqrt(list_sum(list_transform(original, lambda i: i * i))) / len(original) - sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed) as double)},
        {measure: 'pmi_loss_max', value: cast(list_max(original) - list_max(printed) as double)},
        {measure: 'wmi_utility', value: cast(__mi_weight__ * mi_utility + (1 - __mi_weight__) * list_avg(printed) as double)}
    ]) as entry
    from private, public
)
union all
select entry.measure, sensitive, entry.value
from (
    select *, unnest([
        {measure: 'cm', value: cast(off_majority / rows as double)},
        {measure: 'mean_entropy_diversity', value: cast(mean_entropy as double)},
        {measure: 'minimum_entropy_diversity', value: cast(least_entropy as double)},
        {measure: 'frequency_diversity', value: cast(least_frequency as double)}
    ]) as entry
    from __diversities__ as diversities, sizes
)
