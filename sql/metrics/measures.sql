-- A row is one measure of a release: its value, its range, whether lower or higher is better, and where it is from.
with cells as (
    select
        sum(rows * weight * ncp) as ncp,
        sum(rows * weight) as weights,
        sum(rows * lm) / sum(rows) as lm,
        sum(rows * eloss) / sum(rows) as eloss,
        sum(rows * case when level is null then ncp else 0 end) as numbers_distortion,
        sum(rows) filter (where level is null) as numbers_cells,
        sum(rows * {printed_depth}) filter (where level is not null) as printed_depth,
        coalesce(sum(rows) filter (where is_modified), 0) / sum(rows) as modified
    from {labels} as printed
),
origin as (
    select coalesce(sum(rows * {leaf_depth}), 0) as leaf_depth
    from {leaves} as leaf
),
sizes as (
    select
        sum(size * classes) as rows,
        sum(size * size * classes) filter (where not is_suppressed) as squares,
        coalesce(sum(size) filter (where is_suppressed), 0) as suppressed,
        sum(size * classes) filter (where not is_suppressed) / sum(classes) filter (where not is_suppressed) as average
    from {classes} as classes
),
everything as (
    select
        *,
        case when weights > 0 then coalesce(numbers_distortion, 0) + leaf_depth - coalesce(printed_depth, 0) end as distortion,
        coalesce(numbers_cells, 0) + leaf_depth as worst
    from cells, origin, sizes
)
select measure, cast(measured as double) as value, "range", better, source
from everything, lateral (values
    ('ncp', ncp, '0 to cells', 'lower', 'He et al. 2012'),
    ('gcp', ncp / weights, '0 to 1', 'lower', 'He et al. 2012'),
    ('lm', lm, '0 to 1', 'lower', 'Goldberger & Tassa 2010'),
    ('dm', coalesce(squares, 0) + suppressed * rows, 'rows · k to rows²', 'lower', 'Goldberger & Tassa 2010'),
    ('average_class_size', average / {k}, '1 or more', 'lower', 'Goldberger & Tassa 2010'),
    ('precision', 1 - eloss, '0 to 1', 'higher', 'Wang et al. 2022'),
    ('distortion', distortion, '0 to cells', 'lower', 'Li et al. 2006'),
    ('distortion_ratio', case when worst > 0 then distortion / worst else 0 * distortion end, '0 to 1', 'lower', 'Li et al. 2006'),
    ('modification_rate', modified, '0 to 1', 'lower', 'Li et al. 2006')
) as measures(measure, measured, "range", better, source)
