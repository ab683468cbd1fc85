-- The patients of Li, Wong, Fu and Pei (2006), Table 1, made 2-anonymous.   sqlanon run examples/problems.sql
CREATE TABLE problems AS SELECT * FROM (VALUES
    ('male', 'middle', '4350', 'stress'), ('male', 'middle', '4350', 'obesity'),
    ('male', 'young', '4351', 'stress'), ('female', 'young', '4352', 'obesity'),
    ('female', 'old', '4353', 'stress'), ('female', 'old', '4353', 'obesity')
) AS t(gender, age, pcode, problem);

CREATE HIERARCHY pcode USING PREFIX;

CREATE ANONYMIZED TABLE problems_public AS SELECT * FROM problems
OPTIONS (k = 2, quasi = [gender, age, pcode], sensitive = [problem], method = kaca);

FROM problems_public ORDER BY ALL;

-- The paper's Table 1b: 4 of 18 cells modified, a distortion of 2.5.
SELECT measure, value FROM anon.utility('problems_public') WHERE measure IN ('modification_rate', 'distortion');
