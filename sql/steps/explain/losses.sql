-- A row is a quasi-identifier and its loss: the share of its range or hierarchy that a released cell covers on average.
select attribute, sum(rows * ncp) / sum(rows) as loss
from (__labels__)
group by attribute
