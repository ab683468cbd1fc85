-- The smallest number of distinct sensitive values in a class; NULL counts as a value. NULL for an empty table.
create or replace macro anon.distinct_l_diversity(t, quasi, sensitive) as (
    select min(distinct_values)
    from query(anon.diversity_query(t, quasi, sensitive))
        as classes(class_size, distinct_values, most_frequent, weighted_logarithms)
);
