-- One row: the Kullback-Leibler divergence, in bits, of what is printed from the source; NULL where there are too many
-- classes and tuples to compare.
select sqlanon_divergence(
    (select list(struct_pack(rows := rows, lo := [{lo}], hi := [{hi}])) from boxes),
    (select list(struct_pack(rows := rows, ranks := [{ranks}])) from encoded where rows > 0)
) as divergence
