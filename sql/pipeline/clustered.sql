-- One row: the core's answer. It sees distinct tuples of ranks with their counts, the hierarchies, and nothing else.
select sqlanon_cluster(
    {request},
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(tuple := tuple, rows := {counted}, released := rows, ranks := [{ranks}], codes := {codes}))
        from encoded
    )
) as answer
from guard
where case when message is null then true else error(message) end
