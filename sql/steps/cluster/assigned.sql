-- A row is a row of the source with its group. The rows of a tuple that several groups share are dealt out at random, by
-- a source that no seed drives: in an order that depends on a value, the groups would tell who has it.
-- Reads: deals, encoded, source.
select source.*, deals.group_id
from __rows__
join encoded on __same__
join deals on deals.tuple = encoded.tuple and not deals.is_shared
union all
select dealt.* exclude (tuple, turn), deals.group_id
from (
    select * exclude (chance), row_number() over (partition by tuple order by chance) as turn
    from (
        select source.*, encoded.tuple, sqlanon_shuffle(encoded.tuple) as chance
        from __rows__
        join encoded on __same__
        where encoded.tuple in (select tuple from deals where is_shared)
    )
) as dealt
asof join deals on deals.tuple = dealt.tuple and dealt.turn >= deals.first
