-- __about__
create or replace macro anon.__macro__(__parameters__) as table
from query(__planner_query__);
