-- __about__
create or replace macro anon.__macro__(__parameters__) as (
    select __worst__
    from query(anon.model_query(__arguments__))
);
