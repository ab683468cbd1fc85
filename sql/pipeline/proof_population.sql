-- One row: the least number of people of the population that a printed class covers, and how many classes and rows there
-- are. Read from the printed labels, against the tuples of the population.
select
    sqlanon_inside(
        (select list(struct_pack(rows := rows, lo := [{lo}], hi := [{hi}])) from boxes),
        (select list(struct_pack(rows := people, ranks := [{ranks}])) from encoded)
    ) as smallest,
    (select count(*) from boxes) as classes,
    (select coalesce(sum(rows), 0) from boxes) as rows
