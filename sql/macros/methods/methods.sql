-- A row is one clustering method: its paper, its cost, its parameters with defaults, and when to use it.
create or replace macro anon.methods() as table (
    select *
    from (values __methods__) as methods(method, parameters, cost, use, paper)
);
