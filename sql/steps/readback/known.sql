-- The labels, each with the rows of the source that it covers; an error where a label means nothing, or left out.
select labels.*, coalesce(sum(counts.rows), 0) as mass
from __labels__ as labels
left join __counts__ as counts on counts.rank between labels.lo and labels.hi
where case
    when labels.lo is not null and labels.hi is not null then true
    else __unknown__
end
group by all
