-- A row is one measure of a release: the sensitive column it looks at or NULL, and its value. Lists are unnested, which
-- DuckDB plans in half the time of a lateral join.
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
)
select entry.measure, cast(null as varchar) as "column", entry.value
from (
    select *, unnest([
        {measure: 'ncp', value: cast(ncp as double)},
        {measure: 'gcp', value: cast(ncp / weights as double)},
        {measure: 'lm', value: cast(lm as double)},
        {measure: 'am', value: cast(ambiguity as double)},
        {measure: 'dm', value: cast(coalesce(squares, 0) + suppressed * rows as double)},
        {measure: 'suppressed', value: cast(suppressed / rows as double)},
        {measure: 'average_class_size', value: cast(average / __k__ as double)},
        {measure: 'mi_loss', value: cast(mi_loss as double)},
        {measure: 'mi_utility', value: cast(mi_original - mi_loss as double)},
        {measure: 'precision', value: cast(1 - eloss as double)},
        {measure: 'distortion', value: cast(distortion as double)},
        {measure: 'distortion_ratio', value: cast(case when worst > 0 then distortion / worst else 0 * distortion end as double)},
        {measure: 'modification_rate', value: cast(modified as double)}
    ]) as entry
    from public
)
union all
select measure, null, value
from __others__ as others
