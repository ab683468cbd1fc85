-- A row is one measure of a release: the sensitive column it looks at or NULL, its value, formula and range, whether
-- lower or higher is better, where it is from, and why it is NULL where it is. All but the value comes from a map
-- that pipeline/metrics.py makes; a measure that the map lacks is left out.
with cells as (
    select
        sum(rows * weight * ncp) as ncp,
        sum(rows * weight) as weights,
        sum(rows * lm) / sum(rows) as lm,
        sum(rows * eloss) / sum(rows) as eloss,
        sum(rows * log2(mass)) / sum(rows) as mean_mass,
        sum(rows * case when level is null then ncp else 0 end) as numbers_distortion,
        sum(rows) filter (where level is null) as numbers_cells,
        sum(rows * __printed_depth__) filter (where level is not null) as printed_depth,
        coalesce(sum(rows) filter (where is_modified), 0) / sum(rows) as modified
    from __labels__ as printed
),
origin as (
    select
        coalesce(sum(rows * __leaf_depth__) filter (where level is not null), 0) as leaf_depth,
        sum(logarithms) / sum(rows) as mean_leaf
    from __leaves__ as leaf
),
sizes as (
    select
        sum(size * classes) as rows,
        sum(size * size * classes) filter (where not is_suppressed) as squares,
        coalesce(sum(size) filter (where is_suppressed), 0) as suppressed,
        coalesce(
            sum(size * classes) filter (where not is_suppressed) / sum(classes) filter (where not is_suppressed),
            sum(size * classes) / sum(classes)
        ) as average,
        case when isfinite(sum(size * combinations)) then sum(size * combinations) / sum(size * classes) end as ambiguity
    from __classes__ as classes
),
public as (
    select
        *,
        mean_mass - mean_leaf as mi_loss,
        log2(rows) - mean_leaf as mi_original,
        case when weights > 0 then coalesce(numbers_distortion, 0) + leaf_depth - coalesce(printed_depth, 0) end as distortion,
        coalesce(numbers_cells, 0) + leaf_depth as worst
    from cells, origin, sizes
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
),
measured as (
    select measure, cast(null as varchar) as "column", cast(measured as double) as value
    from public, lateral (values
        ('ncp', ncp),
        ('gcp', ncp / weights),
        ('lm', lm),
        ('am', ambiguity),
        ('dm', coalesce(squares, 0) + suppressed * rows),
        ('suppressed', suppressed / rows),
        ('average_class_size', average / __k__),
        ('mi_loss', mi_loss),
        ('mi_utility', mi_original - mi_loss),
        ('precision', 1 - eloss),
        ('distortion', distortion),
        ('distortion_ratio', case when worst > 0 then distortion / worst else 0 * distortion end),
        ('modification_rate', modified)
    ) as measures(measure, measured)
    union all
    select measure, null, value
    from __others__ as others
    union all
    select measure, sensitive, cast(measured as double)
    from private, public, lateral (values
        ('pmi_loss', pmi_loss),
        ('pmi_loss_relative', pmi_loss - pmi_loss_original),
        ('pmi_utility', list_avg(printed)),
        ('pmi_utility_l2', sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed)),
        ('pmi_utility_max', list_max(printed)),
        ('pmi_loss_l2', sqrt(list_sum(list_transform(original, lambda i: i * i))) / len(original) - sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed)),
        ('pmi_loss_max', list_max(original) - list_max(printed)),
        ('wmi_utility', __mi_weight__ * (mi_original - mi_loss) + (1 - __mi_weight__) * list_avg(printed))
    ) as measures(measure, measured)
    union all
    select measure, sensitive, cast(measured as double)
    from __diversities__ as diversities, sizes, lateral (values
        ('cm', off_majority / rows),
        ('mean_entropy_diversity', mean_entropy),
        ('minimum_entropy_diversity', least_entropy),
        ('frequency_diversity', least_frequency)
    ) as measures(measure, measured)
)
select measure, value, "column", about.formula, about."range", about.better, about.source,
    case when value is null then about.missing end as note
from (
    select *, __measures__[measure] as about
    from measured
)
where about is not null
