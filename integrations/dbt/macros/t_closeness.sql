{# A failing row is a class whose sensitive values are further from the table's than t, with the distance: equal (half the
   sum of the differences of shares) or ordered (values that are further apart count more). NULL is a value of its own,
   and the last in order. #}
{% test t_closeness(model, quasi, sensitive, t, distance='equal') %}

{%- if distance not in ('equal', 'ordered') -%}
    {{ exceptions.raise_compiler_error("t_closeness: distance is '" ~ distance ~ "'; it must be equal or ordered") }}
{%- endif %}
{%- set classes = sqlanon.quoted(quasi, 'quasi') %}

with rows_of as (
    select {{ classes }}, {{ sqlanon.quoted(sensitive, 'sensitive') }} as sqlanon_value
    from {{ model }}
),
numbered as (
    select
        * exclude (sqlanon_value),
        dense_rank() over (order by {{ classes }}) as sqlanon_class,
        dense_rank() over (order by sqlanon_value nulls last) as sqlanon_place
    from rows_of
),
overall as (
    select sqlanon_place as place, count(*) / sum(count(*)) over () as share from numbered group by all
),
sizes as (
    select sqlanon_class as class, any_value(columns(* exclude (sqlanon_class, sqlanon_place))), count(*) as class_size
    from numbered
    group by sqlanon_class
),
counts as (
    select sqlanon_class as class, sqlanon_place as place, count(*) as n from numbered group by all
),
differences as (
    select class, place, coalesce(n, 0) / class_size - share as difference
    from sizes
    cross join overall
    left join counts using (class, place)
),
distances as (
{%- if distance == 'equal' %}
    select class, sum(abs(difference)) / 2 as t
    from differences
    group by class
{%- else %}
    select class, coalesce(sum(abs(moved)) / nullif(count(*) - 1, 0), 0) as t
    from (select class, sum(difference) over (partition by class order by place) as moved from differences)
    group by class
{%- endif %}
)

select {{ classes }}, class_size, t
from distances
join sizes using (class)
where t > {{ t }} + 1e-9

{% endtest %}
