SELECT min(n) AS k
FROM (SELECT count(DISTINCT __entity__) AS n FROM __relation__ GROUP BY __printed__);
