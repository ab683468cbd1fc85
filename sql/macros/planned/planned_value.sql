-- __about__
create or replace macro anon.__macro__(__parameters__) as (
    select __answer__
    from query(__planner_query__)
);
