-- 5,000 census-like rows made here, anonymized by both methods.   sqlanon run examples/adult.sql
CREATE TABLE adult AS
SELECT
    CAST(17 + hash(i, 'age') % 40 + hash(i, 'older') % 25 AS INTEGER) AS age,
    CASE WHEN hash(i, 'work') % 100 < 74 THEN 'Private'
         WHEN hash(i, 'work') % 100 < 85 THEN 'Self-employed'
         WHEN hash(i, 'work') % 100 < 92 THEN 'Local-gov' ELSE 'State-gov' END AS workclass,
    ['HS-grad', 'Some-college', 'Bachelors', 'Masters', 'Doctorate'][CAST(1 + hash(i, 'a') % 3 + hash(i, 'b') % 3 AS INTEGER)] AS education,
    CASE WHEN hash(i, 'sex') % 3 = 0 THEN 'Female' ELSE 'Male' END AS sex,
    CASE WHEN hash(i, 'pay') % 4 = 0 THEN '>50K' ELSE '<=50K' END AS salary
FROM range(5000) AS t(i);

CREATE HIERARCHY workclass AS SELECT * FROM (VALUES
    ('Private', 'Private', '*'), ('Self-employed', 'Self-employed', '*'),
    ('Local-gov', 'Government', '*'), ('State-gov', 'Government', '*'));

CREATE HIERARCHY education AS SELECT * FROM (VALUES
    ('HS-grad', 'School', '*'), ('Some-college', 'School', '*'),
    ('Bachelors', 'University', '*'), ('Masters', 'University', '*'), ('Doctorate', 'University', '*'));

FROM anon.hierarchy_tree('workclass');
FROM anon.hierarchy_gaps('adult', 'education', 'education');

CREATE ANONYMIZED TABLE adult_kaca AS FROM adult
OPTIONS (k = 10, quasi = [age, workclass, education, sex], sensitive = [salary], method = kaca, beta = 1);

CREATE ANONYMIZED TABLE adult_kacpc AS FROM adult
OPTIONS (k = 10, quasi = [age, workclass, education, sex], sensitive = [salary], method = kacpc, weights = {age: 2});

SELECT name, k, rows, CAST(metrics ->> '$.gcp' AS DOUBLE) AS gcp FROM anon.releases;
FROM anon.equivalence_classes('adult_kaca', ['age', 'workclass', 'education', 'sex']) LIMIT 5;
