-- The patients of He et al. (2012), Table 1, as a view for analysts.   sqlanon run examples/microdata.sql --db out.duckdb
CREATE OR REPLACE TABLE microdata AS SELECT * FROM (VALUES
    ('Andy', 20, 25, 'Flu'), ('Bob', 20, 30, 'Bronchitis'), ('Jane', 30, 25, 'Gastritis'),
    ('Alex', 40, 30, 'Pneumonia'), ('Mary', 50, 10, 'Flu'), ('Lily', 60, 5, 'Bronchitis'), ('Lucy', 60, 10, 'Gastritis')
) AS t(name, age, zip, disease);

CREATE OR REPLACE ANONYMIZED VIEW microdata_public AS SELECT age, zip, disease FROM microdata
OPTIONS (k = 2, quasi = [age, zip], sensitive = [disease], ranges = columns);

FROM microdata_public ORDER BY ALL;
SELECT anon.k_anonymity('microdata_public', ['age_min', 'age_max', 'zip_min', 'zip_max']) AS k;
FROM anon.utility('microdata_public');
