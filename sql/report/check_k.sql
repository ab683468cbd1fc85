SELECT min(n) AS k
FROM (SELECT count(*) AS n FROM {relation} GROUP BY {printed});
