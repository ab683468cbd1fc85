-- The largest l for which t is entropy l-diverse: the smallest over classes of exp(entropy of the sensitive values).
-- NULL for an empty table.
create or replace macro anon.entropy_l_diversity(t, quasi, sensitive) as (
    select min(exp(ln(class_size) - weighted_logarithms / class_size))
    from query(anon.diversity_query(t, quasi, sensitive))
        as classes(class_size, distinct_values, most_frequent, weighted_logarithms)
);
