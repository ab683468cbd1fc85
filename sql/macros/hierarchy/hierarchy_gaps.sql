-- A row is one value of the column that the hierarchy does not cover, and how many rows hold it. A rule covers what
-- it can read as a number or a date; prefixes cover everything. NULL always has its own place.
create or replace macro anon.hierarchy_gaps(t, c, h) as table (
    select value, rows
    from query(
        'select cast("' || replace(c, '"', '""') || '" as varchar), count(*) from query_table('''
        || replace(t, '''', '''''') || ''') group by 1'
    ) as counted(value, rows)
    where value is not null and case (
        select coalesce(any_value(known.kind), error('sqlanon: There is no hierarchy ''' || h || ''''))
        from anon.hierarchies as known
        where lower(known.name) = lower(h)
    )
        when 'intervals' then not coalesce(isfinite(try_cast(value as double)), false)
        when 'dates' then not coalesce(isfinite(try_cast(value as timestamp)), false)
        when 'prefix' then false
        else value not in (
            select arg_min(node.label, node.level)
            from anon.hierarchy_nodes as node
            where lower(node.name) = lower(h) and node.lo = node.hi
            group by node.lo
        )
    end
    order by rows desc, value
);
