-- total cost
SELECT {sum(cost)} FROM visits;

-- total cost by diagnosis
SELECT diagnosis, {sum(cost)} FROM visits GROUP BY diagnosis ORDER BY sum(cost) DESC;

-- mean cost
SELECT {avg(cost)} FROM visits;

-- mean cost by diagnosis
SELECT diagnosis, {avg(cost)} FROM visits GROUP BY diagnosis ORDER BY avg(cost) DESC;

-- spread of cost
SELECT {stddev(cost)} FROM visits;

-- median cost
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS median} FROM visits;

-- ninetieth percentile of cost by diagnosis
SELECT diagnosis, {percentile_cont(0.9) WITHIN GROUP (ORDER BY cost) AS p90} FROM visits GROUP BY diagnosis ORDER BY p90 DESC;

-- patients by diagnosis
SELECT diagnosis, {count(DISTINCT patient_id)} FROM visits GROUP BY diagnosis ORDER BY count(DISTINCT patient_id) DESC;

-- visits of a patient
SELECT {avg(n)} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- visits by hospital
SELECT hospital_id, {count(*)} FROM visits GROUP BY hospital_id ORDER BY count(*) DESC;

-- visits by sex
SELECT p.sex, {count(*)} FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY p.sex ORDER BY count(*) DESC;

-- cost and age
SELECT {corr(v.cost, 2024 - p.birth_year) AS correlation}, {regr_slope(v.cost, 2024 - p.birth_year) AS slope}
FROM visits v JOIN patients p ON p.id = v.patient_id;

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
