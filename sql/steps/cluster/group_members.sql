-- A row is one tuple in one group, and how many of its rows are there.
-- Reads: deals, encoded.
select deals.tuple, deals.group_id, case when deals.is_shared then deals.rows else encoded.rows end as rows
from deals
join encoded on encoded.tuple = deals.tuple
