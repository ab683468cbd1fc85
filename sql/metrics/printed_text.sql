select
    label,
    case when label like '[%]' then regexp_extract(label, {pattern}, 1) else label end as first,
    case when label like '[%]' then regexp_extract(label, {pattern}, 2) else label end as last,
    count(*) as rows
from (select cast({label} as varchar) as label from {release})
group by all
