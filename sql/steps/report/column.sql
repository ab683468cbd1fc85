-- One row about an attribute, as lists: the ranks that the source holds with their rows and places, the released labels
-- with the ranks that they cover and what is lost by each, and the nodes of its hierarchy.
select
    (
        select list({'rank': counts.rank, 'rows': counts.rows, 'place': domain.place} order by counts.rank)
        from __counts__ as counts
        join __domain__ as domain on domain.rank = counts.rank
    ) as held,
    (
        select list({'rows': rows, 'lo': lo, 'hi': hi, 'ncp': ncp, 'level': level, 'height': height,
            'is_modified': is_modified, 'is_missing': label is null, 'is_suppressed': coalesce(label = '*', false)})
        from __labels__
    ) as printed,
    (
        select list({'lo': lo, 'hi': hi, 'level': level, 'label': label} order by lo, hi desc, level desc)
        from __nodes__
    ) as nodes
