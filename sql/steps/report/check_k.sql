SELECT min(n) AS k
FROM (SELECT count(*) AS n FROM __relation__ GROUP BY __printed__);
