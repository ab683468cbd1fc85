-- One row: the core's answer. It sees distinct tuples of ranks with their counts, the hierarchies, and nothing else.
-- Reads: encoded, guard, nodes.
select sqlanon_cluster(
    __request__,
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes),
    (
        select list(struct_pack(
            tuple := tuple, rows := __counted__, released := rows, ranks := cast([__ranks__] as integer[]), codes := __codes__
        ))
        from encoded
    )
) as answer
from guard
where case when message is null then true else error('sqlanon: ' || message) end
