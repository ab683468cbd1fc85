-- A row is a row of the source with its group. The rows of a tuple that several groups share are dealt out in the
-- order of their other columns, so that each group gets its share of every sensitive value, and always the same; or in
-- an order that nobody knows, where the order could tell them apart.
select
    source.*,
    deals.deal[1 + (row_number() over (partition by encoded.tuple order by {order}) - 1) % len(deals.deal)] as group_id
from {rows}
join encoded on {same}
join deals on deals.tuple = encoded.tuple
