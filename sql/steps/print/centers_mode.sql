-- A row is one group and its most frequent value: of values as frequent, the first.
-- Reads: encoded, members.
select group_id, arg_max(struct_pack(label := label), struct_pack(rows := rows, first := -rank)).label as center
from (
    select members.group_id, encoded.__rank__ as rank, any_value(__domain__.label) as label, sum(members.rows) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join __domain__ on __domain__.rank = encoded.__rank__
    group by all
)
group by group_id
