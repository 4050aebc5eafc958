-- mean result by test
SELECT test, {avg(value)} FROM labs GROUP BY test;

-- mean age at a visit
SELECT {avg(extract(year FROM v.day) - p.birth_year) AS age} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- mean days since the first one
SELECT diagnosis, {avg(day - date '2020-01-01') AS days} FROM visits GROUP BY diagnosis;

-- mean product of cost and age
SELECT {avg(v.cost * (2024 - p.birth_year)) AS product} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- mean hours of a stay, whose bounds the policy has
SELECT {avg(extract(epoch FROM gone - arrived) / 3600) AS hours} FROM stays;

-- mean hours of a stay, backwards
SELECT {avg(extract(epoch FROM arrived - gone) / 3600) AS hours} FROM stays;

-- mean hours of a stay by diagnosis, backwards
SELECT diagnosis, {avg(extract(epoch FROM arrived - gone) / 3600) AS hours}
FROM stays JOIN visits ON visits.id = stays.id AND visits.patient_id = stays.patient_id GROUP BY diagnosis;

-- spread of years of birth
SELECT {stddev(birth_year)} FROM patients;

-- spread of cost by diagnosis
SELECT diagnosis, {stddev(cost)} FROM visits GROUP BY diagnosis;

-- spread of hours of a stay, whose bounds the policy has
SELECT {stddev(extract(epoch FROM gone - arrived) / 3600) AS hours} FROM stays;

-- spread of hours of a stay, backwards
SELECT {stddev(extract(epoch FROM arrived - gone) / 3600) AS hours} FROM stays;

-- spread of age at a visit
SELECT {stddev(extract(year FROM v.day) - p.birth_year) AS age} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- variance of results
SELECT {variance(value)} FROM labs;

-- spread of visits of a patient
SELECT {stddev(n)} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- correlation of age and visits of a patient
SELECT {corr(2024 - p.birth_year, t.n) AS correlation}
FROM patients p JOIN (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t ON t.patient_id = p.id;

-- covariance of cost and year of birth
SELECT {covar_samp(v.cost, p.birth_year) AS covariance} FROM visits v JOIN patients p ON p.id = v.patient_id;

-- slope of results over age
SELECT {regr_slope(l.value, 2024 - p.birth_year) AS slope}
FROM labs l JOIN visits v ON v.id = l.visit_id JOIN patients p ON p.id = v.patient_id;

-- median and ninetieth percentile of cost
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS median}, {percentile_cont(0.9) WITHIN GROUP (ORDER BY cost) AS p90}
FROM visits;

-- median and ninetieth percentile of cost by region
SELECT p.region, {percentile_cont(0.5) WITHIN GROUP (ORDER BY v.cost) AS median},
  {percentile_cont(0.9) WITHIN GROUP (ORDER BY v.cost) AS p90}
FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY p.region;

-- least and largest cost
SELECT {min(cost)}, {max(cost)} FROM visits;
