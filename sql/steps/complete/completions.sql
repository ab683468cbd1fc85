-- A row is a word that a statement may have: names of tables, views and columns as they are now, our tables and macros by
-- their schema, and DuckDB's keywords and functions.
select 'name' as kind, table_name as word
from (
    select table_name, schema_name, internal
    from duckdb_tables()
    union all
    select view_name, schema_name, internal
    from duckdb_views()
)
where not internal and schema_name <> 'anon'
union
select 'name', column_name
from duckdb_columns()
where not internal and schema_name <> 'anon'
union
select 'name', 'anon.' || table_name
from duckdb_tables()
where schema_name = 'anon' and not starts_with(table_name, 'release_')
union
select 'function', 'anon.' || function_name
from duckdb_functions()
where schema_name = 'anon'
union
select 'keyword', upper(keyword_name)
from duckdb_keywords()
where keyword_category = 'reserved'
union
select 'function', function_name
from duckdb_functions()
where schema_name = 'main' and not starts_with(function_name, 'sqlanon_')
    and regexp_full_match(function_name, '[a-z][a-z0-9_]+')
order by kind desc, word
