-- A row is a row of the sample. The same rows and seed give the same sample, whatever the order of the rows; copies of
-- a row are drawn one by one. NULL is a value like any other.
select {named}
from (select *, row_number() over (partition by hash({values})) as copy from (select {columns} from {source}))
order by hash({values}, copy, {seed})
limit {rows}
