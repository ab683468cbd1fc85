-- A row is one size of class, and how many printed classes have it. The class that prints nothing but * is suppressed.
select size, count(*) as classes, is_suppressed
from (
    select count(*) as size, {is_suppressed} as is_suppressed
    from {release}
    group by {printed}
)
group by all
