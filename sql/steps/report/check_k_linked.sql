SELECT min(n) AS k
FROM (
    SELECT count(*) AS n
    FROM (SELECT list_sort(list(struct_pack(__fields__))) AS h FROM __relation__ GROUP BY __entity__)
    GROUP BY h
);
