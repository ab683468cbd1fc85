{# A failing row is a class of fewer than k rows: its printed values and its size. NULL is a value of its own. #}
{% test k_anonymity(model, quasi, k=5) %}

select {{ sqlanon.quoted(quasi, 'quasi') }}, count(*) as class_size
from {{ model }}
group by {{ sqlanon.quoted(quasi, 'quasi') }}
having count(*) < {{ k }}

{% endtest %}
