-- A row is a row of the sample. The same rows and seed give the same sample, whatever the order of the rows; copies of
-- a row are drawn one by one. NULL is a value like any other.
select __named__
from (select *, row_number() over (partition by hash(__values__)) as copy from (select __columns__ from __source__))
order by hash(__values__, copy, __seed__)
limit __rows__
