SELECT min(n / most) AS l
FROM (SELECT sum(n) AS n, max(n) AS most
      FROM (SELECT __printed__, __sensitive__, count(*) AS n FROM __relation__ GROUP BY ALL)
      GROUP BY __printed__);
