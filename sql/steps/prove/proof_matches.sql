-- One row: the least number of records that a released row may stand for, or of rows that a record may stand behind,
-- and how many different rows are released. Read from the released labels, against the tuples of the source.
-- Reads: boxes, encoded.
select
    sqlanon_matches(
        (select list(struct_pack(rows := rows, lo := [__lo__], hi := [__hi__])) from boxes),
        (select list(struct_pack(rows := rows, ranks := [__ranks__])) from encoded)
    ) as smallest,
    (select count(*) from boxes) as classes,
    (select sum(rows) from boxes) as rows
