SELECT min(n) AS k
FROM (SELECT count(DISTINCT {entity}) AS n FROM {relation} GROUP BY {printed});
