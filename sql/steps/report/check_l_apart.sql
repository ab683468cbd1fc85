SELECT min(n / most) AS l
FROM (SELECT sum(rows) AS n, max(rows) AS most FROM __relation__ GROUP BY group_id);
