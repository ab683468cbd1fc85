-- The labels, each with the rows of the source that it covers; an error where a label means nothing, or left out. Rows
-- are added up along the ranks once: to add up those of each label would take a row for each pair of label and rank.
select labels.*, coalesce(upto.rows, 0) - coalesce(below.rows, 0) as mass
from __labels__ as labels
asof left join (
    select rank, sum(rows) over (order by rank) as rows
    from __counts__
) as upto on upto.rank <= labels.hi
asof left join (
    select rank, sum(rows) over (order by rank) as rows
    from __counts__
) as below on below.rank < labels.lo
where case
    when labels.lo is not null and labels.hi is not null then true
    else __unknown__
end
