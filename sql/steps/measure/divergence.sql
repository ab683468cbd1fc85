-- One row: the Kullback-Leibler divergence, in bits, of what is released from the source; NULL where there are too many
-- classes and tuples to compare.
-- Reads: boxes, encoded.
select sqlanon_divergence(
    (select list(struct_pack(rows := rows, lo := [__lo__], hi := [__hi__])) from boxes),
    (select list(struct_pack(rows := rows, ranks := [__ranks__])) from encoded where rows > 0)
) as divergence
