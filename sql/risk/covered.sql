-- A row is a printed row: the ranks that its labels cover, whether each shows ends, and the hashes of what is released as
-- it is, in the order of the release.
select {columns}
from printed
{joins}
order by printed.place
