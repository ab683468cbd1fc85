-- The labels; an error where a label means nothing, or left out.
select *
from __labels__ as labels
where case
    when lo is not null and hi is not null then true
    else __unknown__
end
