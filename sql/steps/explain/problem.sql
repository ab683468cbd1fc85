-- One row: the nodes of all hierarchies and the distinct tuples of ranks, as lists; what a core sees.
-- Reads: encoded, nodes.
select
    (select list(struct_pack(attribute := attribute, lo := lo, hi := hi, level := level, place := place)) from nodes) as nodes,
    (
        select list(struct_pack(
            tuple := tuple, rows := __counted__, released := rows, ranks := cast([__ranks__] as integer[]), codes := __codes__
        ))
        from encoded
    ) as tuples
