-- A row is one measure of how easily the people in t can be found again; all are shares or counts, and NULL
-- is a value of its own. f is the size of a row's class in t, F in the population (f if none is given), which must be
-- generalized in the same way as t. Prosecutor: the attacker knows that the person is in t. Journalist: only that the
-- person is in the population. Marketer: any people will do. El Emam & Dankar, Protecting privacy using k-anonymity,
-- JAMIA 2008; El Emam, Guide to the De-Identification of Personal Health Information, 2013, whose pRb, pRc, jRb, jRc,
-- mR1 and mR2 these are; ARX names them so too; sdcMicro's individual risk without weights is 1 / f. With an entity, also
-- how few people share a set of rows, and how many people have a set of their own.
create or replace macro anon.risk(t, quasi, population := null, entity := null) as table (
    with classes as materialized (
        select size, people
        from query(anon.risk_query(t, quasi, population)) as classes(size, people)
    ),
    counted as (
        select
            coalesce(sum(size), 0) as rows,
            count(*) as classes,
            min(size) as smallest,
            median(size) as middle,
            max(size) as largest,
            1 / min(size) as highest,
            1 / min(people) as highest_of_people,
            count(*) / sum(size) as per_row,
            count(*) / sum(people) as per_person,
            sum(size / people) / sum(size) as found,
            coalesce(sum(size) filter (where size < 2), 0) / sum(size) as below_2,
            coalesce(sum(size) filter (where size < 3), 0) / sum(size) as below_3,
            coalesce(sum(size) filter (where size < 5), 0) / sum(size) as below_5,
            coalesce(sum(size) filter (where size < 10), 0) / sum(size) as below_10
        from classes
    )
    select measure, cast(measured as double) as value, formula, source
    from counted, lateral (values
        ('rows', rows, 'rows of the table', null),
        ('classes', classes, 'combinations of quasi-identifier values', null),
        ('smallest_class', smallest, 'min f', null),
        ('median_class', middle, 'median of f over classes', null),
        ('largest_class', largest, 'max f', null),
        ('prosecutor_max', highest, 'max 1 / f', 'El Emam & Dankar 2008'),
        ('prosecutor_mean', per_row, 'mean over rows of 1 / f = classes / rows', 'El Emam 2013'),
        ('journalist_max', highest_of_people, 'max 1 / F', 'El Emam & Dankar 2008'),
        ('journalist_mean', greatest(per_person, found), 'max of classes / Σ F over classes, mean over rows of 1 / F', 'El Emam 2013'),
        ('marketer', found, 'mean over rows of 1 / F', 'El Emam 2013'),
        ('unique_rows', below_2, 'share of rows with f < 2', 'sdcMicro'),
        ('rows_below_3', below_3, 'share of rows with f < 3', 'sdcMicro'),
        ('rows_below_5', below_5, 'share of rows with f < 5', 'sdcMicro'),
        ('rows_below_10', below_10, 'share of rows with f < 10', 'sdcMicro')
    ) as measures(measure, measured, formula, source)
    union all
    select measure, cast(measured as double), formula, null
    from (
        select sum(people) as everybody, min(people) as fewest, sum(people) filter (where people = 1) as alone
        from query(
            case
                when entity is null then 'select 0 as people, 0 as rows where false'
                else anon.linked_query(t, quasi, entity)
            end
        ) as histories(people, rows)
    ), lateral (values
        ('people', everybody, 'people of the table'),
        ('linked_k', fewest, 'least number of people who share a set of rows'),
        ('unique_people', coalesce(alone, 0) / everybody, 'share of people with a set of rows of their own')
    ) as of_people(measure, measured, formula)
    where entity is not null
);
