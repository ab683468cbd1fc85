SELECT __answer__
FROM (SELECT max(people) AS n, max(people) FILTER (WHERE NOT is_whole) AS most
      FROM (SELECT __printed__, grouping(__sensitive__) = 1 AS is_whole, count(DISTINCT __entity__) AS people
            FROM __relation__ GROUP BY GROUPING SETS ((__printed__), (__printed__, __sensitive__)))
      GROUP BY __printed__);
