SELECT min(n / most) AS l
FROM (SELECT sum(n) AS n, max(n) AS most
      FROM (SELECT {printed}, {sensitive}, count(*) AS n FROM {relation} GROUP BY ALL)
      GROUP BY {printed});
