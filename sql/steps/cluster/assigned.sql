-- A row is a row of the source with its group. The rows of a tuple that several groups share are dealt out in the
-- order of their other columns, so that each group gets its share of every sensitive value, and always the same; or in
-- an order that nobody knows, where the order could tell them apart. Turns are joined one by one: with all turns of its
-- tuple at each row, memory would grow with the square of a tuple's rows.
-- Reads: deals, encoded, source.
select dealt.* exclude (tuple, place), turns.group_id
from (
    select
        source.*,
        encoded.tuple,
        (row_number() over (partition by encoded.tuple order by __order__) - 1) % lengths.turns as place
    from __rows__
    join encoded on __same__
    join (select tuple, len(deal) as turns from deals) as lengths on lengths.tuple = encoded.tuple
) as dealt
join (
    select tuple, unnest(range(len(deal))) as turn, unnest(deal) as group_id
    from deals
) as turns on turns.tuple = dealt.tuple and turns.turn = dealt.place
