-- A row is one class of t with fewer than k rows: what breaks the promise. No row: t is k-anonymous.
create or replace macro anon.violations(t, quasi, k := 5) as table (
    select *
    from anon.equivalence_classes(t, quasi)
    where class_size < k
);
