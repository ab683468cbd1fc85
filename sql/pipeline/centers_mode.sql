-- A row is one group and its most frequent value: of values as frequent, the first.
select group_id, arg_max(struct_pack(label := label), struct_pack(rows := rows, first := -rank)).label as center
from (
    select members.group_id, encoded.{rank} as rank, any_value({domain}.label) as label, sum(members.rows) as rows
    from members
    join encoded on encoded.tuple = members.tuple
    join {domain} on {domain}.rank = encoded.{rank}
    group by all
)
group by group_id
