SELECT {answer}
FROM (SELECT max(people) AS n, max(people) FILTER (WHERE NOT is_whole) AS most
      FROM (SELECT {printed}, grouping({sensitive}) = 1 AS is_whole, count(DISTINCT {entity}) AS people
            FROM {relation} GROUP BY GROUPING SETS (({printed}), ({printed}, {sensitive})))
      GROUP BY {printed});
