select
    case when first is null then '*' when first = last then first else '[' || first || {separator} || last || ']' end as label,
    first,
    last,
    count(*) as rows
from (select cast({smallest} as varchar) as first, cast({largest} as varchar) as last from {release})
group by all
