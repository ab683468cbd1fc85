-- The smallest beta for which t has enhanced beta-likeness; infinity where no beta will do. NULL for an empty table.
create or replace macro anon.enhanced_beta_likeness(t, quasi, sensitive) as (
    select max(reached)
    from query(anon.model_query(t, quasi, sensitive, 'enhanced_beta'))
);
