{# A failing row is a class that is less diverse than asked, with what it reaches: 1 / the share of its most frequent
   sensitive value (frequency), its distinct values (distinct) or exp(entropy) (entropy). NULL is a value of its own. #}
{% test l_diversity(model, quasi, sensitive, l=2, kind='frequency') %}

{%- set reached = {
    'frequency': 'sum(n) / max(n)',
    'distinct': 'count(*)',
    'entropy': 'exp(ln(sum(n)) - sum(n * ln(n)) / sum(n))',
} -%}
{%- if kind not in reached -%}
    {{ exceptions.raise_compiler_error("l_diversity: kind is '" ~ kind ~ "'; it must be frequency, distinct or entropy") }}
{%- endif %}
{%- set classes = sqlanon.quoted(quasi, 'quasi') %}

select {{ classes }}, {{ reached[kind] }} as l
from (
    select {{ classes }}, {{ sqlanon.quoted(sensitive, 'sensitive') }} as value, count(*) as n
    from {{ model }}
    group by all
)
group by {{ classes }}
having {{ reached[kind] }} < {{ l }} - 1e-9

{% endtest %}
