{# Column names, quoted and separated by commas; none at all is an error, and so is one without text. #}
{% macro quoted(columns, of) %}
    {%- set listed = [columns] if columns is string else columns -%}
    {%- if not listed -%}
        {{ exceptions.raise_compiler_error(of ~ " is empty: name the columns that could identify a person") }}
    {%- endif -%}
    {%- for column in listed -%}
        "{{ column | replace('"', '""') }}"{% if not loop.last %}, {% endif %}
    {%- endfor -%}
{% endmacro %}
