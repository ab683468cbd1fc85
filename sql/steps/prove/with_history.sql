-- A row is a released row with the set of all released rows of its person.
select released.*, histories.history as __history__
from __released__ as released
join (
    select __entity__ as person, list_sort(list(struct_pack(__fields__))) as history
    from __released__
    group by __entity__
) as histories on histories.person = released.__entity__
