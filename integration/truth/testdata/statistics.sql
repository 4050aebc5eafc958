-- expensive visits
SELECT {count(*)} FROM visits WHERE cost > 1000;

-- visits by diagnosis of patients born after 1980
SELECT v.diagnosis, {count(*)} FROM visits v JOIN patients p ON p.id = v.patient_id WHERE p.birth_year > 1980 GROUP BY v.diagnosis;

-- hospitals of patients
SELECT {count(DISTINCT hospital_id)} FROM visits;

-- cost by region
SELECT p.region, {sum(v.cost)} FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY p.region;

-- cost of a year of age
SELECT {sum(v.cost * (2024 - p.birth_year)) AS product} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- mean result by test
SELECT test, {avg(value)} FROM labs GROUP BY test;

-- mean age at a visit
SELECT {avg(extract(year FROM v.day) - p.birth_year) AS age} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- mean days since the first one
SELECT diagnosis, {avg(day - date '2020-01-01') AS days} FROM visits GROUP BY diagnosis;

-- mean product of cost and age
SELECT {avg(v.cost * (2024 - p.birth_year)) AS product} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- spread of years of birth
SELECT {stddev(birth_year)} FROM patients;

-- spread of cost by diagnosis
SELECT diagnosis, {stddev(cost)} FROM visits GROUP BY diagnosis;

-- spread of age at a visit
SELECT {stddev(extract(year FROM v.day) - p.birth_year) AS age} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- variance of results
SELECT {variance(value)} FROM labs;

-- spread of visits of a patient
SELECT {stddev(n)} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- correlation of cost and year
SELECT {corr(cost, extract(year FROM day)) AS correlation} FROM visits;

-- covariance of cost and year of birth
SELECT {covar_samp(v.cost, p.birth_year) AS covariance} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- slope of results over age
SELECT {regr_slope(l.value, 2024 - p.birth_year) AS slope}
FROM labs l JOIN visits v ON v.id = l.visit_id JOIN patients p ON p.id = v.patient_id;

-- quartiles of cost
SELECT {percentile_cont(0.25) WITHIN GROUP (ORDER BY cost) AS first}, {percentile_cont(0.75) WITHIN GROUP (ORDER BY cost) AS third}
FROM visits;

-- median result by test
SELECT test, {percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median} FROM labs GROUP BY test;

-- least and largest cost
SELECT {min(cost)}, {max(cost)} FROM visits;
