-- A row is one measure of a release: the sensitive column it looks at or NULL, its value, formula and range, whether
-- lower or higher is better, and where it is from.
with cells as (
    select
        sum(rows * weight * ncp) as ncp,
        sum(rows * weight) as weights,
        sum(rows * lm) / sum(rows) as lm,
        sum(rows * eloss) / sum(rows) as eloss,
        sum(rows * log2(mass)) / sum(rows) as mean_mass,
        sum(rows * case when level is null then ncp else 0 end) as numbers_distortion,
        sum(rows) filter (where level is null) as numbers_cells,
        sum(rows * {printed_depth}) filter (where level is not null) as printed_depth,
        coalesce(sum(rows) filter (where is_modified), 0) / sum(rows) as modified
    from {labels} as printed
),
origin as (
    select
        coalesce(sum(rows * {leaf_depth}) filter (where level is not null), 0) as leaf_depth,
        sum(logarithms) / sum(rows) as mean_leaf
    from {leaves} as leaf
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
        sum(size * combinations) / sum(size * classes) as ambiguity
    from {classes} as classes
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
    from {information} as information, sizes
    group by sensitive, rows
)
select measure, cast(null as varchar) as "column", cast(measured as double) as value, formula, "range", better, source
from public, lateral (values
    ('ncp', ncp, 'sum of weight · (range / domain, or leaves / all leaves)', '0 to cells', 'lower', 'He et al. 2012'),
    ('gcp', ncp / weights, 'ncp / (rows · sum of weights)', '0 to 1', 'lower', 'He et al. 2012'),
    ('lm', lm, 'mean of (values − 1) / (all values − 1)', '0 to 1', 'lower', 'Goldberger & Tassa 2010'),
    ('am', ambiguity, 'mean of the product of values covered', '1 or more', 'lower', 'Goldberger & Tassa 2010'),
    ('dm', coalesce(squares, 0) + suppressed * rows, 'sum of class size² + suppressed · rows', 'rows · k to rows²', 'lower', 'Goldberger & Tassa 2010'),
    ('suppressed', suppressed / rows, 'share of rows printed as * everywhere, or left out', '0 to 1', 'lower', 'sqlanon'),
    ('average_class_size', average / {k}, 'rows / classes / k', '1 or more', 'lower', 'Goldberger & Tassa 2010'),
    ('mi_loss', mi_loss, '− mean of log2 Pr(value | printed)', '0 to mean entropy, bits', 'lower', 'Goldberger & Tassa 2010'),
    ('mi_utility', mi_original - mi_loss, 'mean entropy − mi_loss', '0 to mean entropy, bits', 'higher', 'Goldberger & Tassa 2010'),
    ('precision', 1 - eloss, '1 − mean of (range / domain, or (height − 1) / (tree height − 1))', '0 to 1', 'higher', 'Wang et al. 2022'),
    ('distortion', distortion, 'sum of WHD(level before, level printed)', '0 to cells', 'lower', 'Li et al. 2006'),
    ('distortion_ratio', case when worst > 0 then distortion / worst else 0 * distortion end, 'distortion / that of the fully generalized table', '0 to 1', 'lower', 'Li et al. 2006'),
    ('modification_rate', modified, 'share of cells not printed as they were', '0 to 1', 'lower', 'Li et al. 2006')
) as measures(measure, measured, formula, "range", better, source)
union all
select measure, null, value, formula, "range", 'lower', source
from {others} as others
join (values
    ('kl_divergence', 'sum of p · log2(p / printed p) over tuples', '0 or more, bits', 'Kifer & Gehrke 2006, in Goldberger & Tassa 2010'),
    ('information_distortion', 'sum of squared distances from class centres, weights 1 / columns', '0 or more', 'Chiu & Tsai 2007'),
    ('information_distortion_own', 'the same with the learned weights', '0 or more', 'Chiu & Tsai 2007'),
    ('lower_bound', 'a gcp that no k-anonymous release of the source goes below', '0 to gcp', 'sqlanon')
) as known(name, formula, "range", source) on known.name = others.measure
union all
select measure, sensitive, cast(measured as double), formula, "range", better, 'Goldberger & Tassa 2010'
from private, public, lateral (values
    ('pmi_loss', pmi_loss, '− mean of log2 Pr(sensitive | printed)', '0 or more, bits', 'lower'),
    ('pmi_loss_relative', pmi_loss - pmi_loss_original, 'pmi_loss − that of the source', 'bits', 'lower'),
    ('pmi_utility', list_avg(printed), 'mean over columns of I(sensitive; printed)', 'bits', 'higher'),
    ('pmi_utility_l2', sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed), 'root of the sum of squares / columns', 'bits', 'higher'),
    ('pmi_utility_max', list_max(printed), 'largest over columns', 'bits', 'higher'),
    ('pmi_loss_l2', sqrt(list_sum(list_transform(original, lambda i: i * i))) / len(original) - sqrt(list_sum(list_transform(printed, lambda i: i * i))) / len(printed), 'that of the source − pmi_utility_l2', 'bits', 'lower'),
    ('pmi_loss_max', list_max(original) - list_max(printed), 'that of the source − pmi_utility_max', 'bits', 'lower'),
    ('wmi_utility', {mi_weight} * (mi_original - mi_loss) + (1 - {mi_weight}) * list_avg(printed), 'w · mi_utility + (1 − w) · pmi_utility', 'bits', 'higher')
) as measures(measure, measured, formula, "range", better)
union all
select measure, sensitive, cast(measured as double), formula, "range", better, source
from {diversities} as diversities, sizes, lateral (values
    ('cm', off_majority / rows, 'share of rows off their class''s majority, or suppressed', '0 to 1', 'lower', 'Goldberger & Tassa 2010'),
    ('mean_entropy_diversity', mean_entropy, 'mean over classes of the entropy', '0 or more, bits', 'higher for privacy', 'Goldberger & Tassa 2010'),
    ('minimum_entropy_diversity', least_entropy, 'smallest entropy of a class', '0 or more, bits', 'higher for privacy', 'Machanavajjhala et al. 2006'),
    ('frequency_diversity', least_frequency, 'smallest 1 / largest share in a class', '1 or more', 'higher for privacy', 'He et al. 2012')
) as measures(measure, measured, formula, "range", better, source)
