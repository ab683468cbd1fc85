-- No level between the values and the top.
select cast(null as bigint) as rank, cast(null as integer) as level, cast(null as varchar) as label
where false
