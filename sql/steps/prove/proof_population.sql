-- One row: the least number of people of the population that a released class covers, and how many classes and rows
-- there are. Read from the released labels, against the tuples of the population.
-- Reads: boxes, encoded.
select
    sqlanon_inside(
        (select list(struct_pack(rows := rows, lo := [__lo__], hi := [__hi__])) from boxes),
        (select list(struct_pack(rows := people, ranks := [__ranks__])) from encoded)
    ) as smallest,
    (select count(*) from boxes) as classes,
    (select coalesce(sum(rows), 0) from boxes) as rows
