-- patients
SELECT {count(*)} FROM patients;

-- patients by sex
SELECT sex, {count(*)} FROM patients GROUP BY sex;

-- patients by region
SELECT region, {count(*) AS patients} FROM patients GROUP BY region ORDER BY patients DESC;

-- smokers
SELECT {count(*)} FROM patients WHERE smoker;

-- returns within thirty days
SELECT {count(*)} FROM visits a JOIN visits b ON b.patient_id = a.patient_id AND b.day > a.day AND b.day <= a.day + 30;

-- share of smokers
SELECT {100.0 * count(*) FILTER (WHERE smoker) / count(*) AS percent | 100.0 | count(*) FILTER (WHERE smoker) | count(*)} FROM patients;

-- share of smokers by region
SELECT region, {avg(CASE WHEN smoker THEN 1 ELSE 0 END) AS share} FROM patients GROUP BY region ORDER BY region;

-- patients by decade of birth
SELECT birth_year / 10 * 10 AS decade, {count(*)} FROM patients GROUP BY decade ORDER BY decade;

-- patients by age band
SELECT CASE WHEN 2024 - birth_year < 18 THEN 'child' WHEN 2024 - birth_year < 65 THEN 'adult' ELSE 'senior' END AS band, {count(*)}
FROM patients
GROUP BY 1;

-- patients by sex and region
SELECT sex, region, {count(*)} FROM patients GROUP BY sex, region ORDER BY sex, region;

-- patients by sex and region, with totals
SELECT sex, region, {count(*)} FROM patients GROUP BY ROLLUP (sex, region);

-- mean age
SELECT {avg(2024 - birth_year) AS age} FROM patients;

-- mean and spread of the year of birth by sex
SELECT sex, {avg(birth_year)}, {stddev(birth_year)} FROM patients GROUP BY sex;

-- median year of birth
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY birth_year) AS median} FROM patients;

-- the oldest and the youngest
SELECT {min(birth_year) AS oldest}, {max(birth_year) AS youngest} FROM patients;

-- running total of visits
SELECT year, {sum(n) OVER (ORDER BY year) AS total | sum(n_low) OVER (ORDER BY year) | sum(n_high) OVER (ORDER BY year)}
FROM (SELECT extract(year FROM day) AS year, {count(*) AS n} FROM visits GROUP BY 1) t;

-- visits
SELECT {count(*)} FROM visits;

-- visits by year
SELECT extract(year FROM day) AS year, {count(*)} FROM visits GROUP BY year ORDER BY year;

-- visits by month
SELECT date_trunc('month', day) AS month, {count(*)} FROM visits GROUP BY 1 ORDER BY 1;

-- patients by exact number of visits
SELECT n AS visits, {count(*) AS patients} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n ORDER BY n;

-- visits by quarter
SELECT date_trunc('quarter', day) AS quarter, {count(*) AS visits}, {sum(cost) AS cost} FROM visits GROUP BY quarter ORDER BY quarter;

-- visits by day of the week
SELECT extract(dow FROM day) AS weekday, {count(*)} FROM visits GROUP BY weekday ORDER BY weekday;

-- visits on weekends
SELECT {count(*)} FROM visits WHERE extract(isodow FROM day) >= 6;

-- visits in January 2024
SELECT {count(*)} FROM visits WHERE day >= '2024-01-01' AND day < '2024-02-01';

-- visits by diagnosis
SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis ORDER BY count(*) DESC;

-- five most frequent diagnoses
SELECT diagnosis, {count(*) AS n} FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 5;
SELECT diagnosis, {count(*) AS n} FROM visits GROUP BY diagnosis;

-- diagnoses with more than 60,000 visits
SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis HAVING count(*) > 60000;
SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis;

-- visits by diagnosis and year
SELECT diagnosis, extract(year FROM day) AS year, {count(*)} FROM visits GROUP BY 1, 2 ORDER BY 1, 2;

-- diagnoses side by side
SELECT {count(*) FILTER (WHERE diagnosis = 'diabetes') AS diabetes}, {count(*) FILTER (WHERE diagnosis = 'asthma') AS asthma},
       {count(*) FILTER (WHERE diagnosis = 'cancer') AS cancer}
FROM visits;

-- share of each diagnosis
SELECT diagnosis, {count(*) AS n}, {round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent | ?}
FROM visits
GROUP BY diagnosis
ORDER BY n DESC;

-- ranks of diagnoses by cost
SELECT diagnosis, {sum(cost) AS total}, {rank() OVER (ORDER BY sum(cost) DESC) AS place | ?} FROM visits GROUP BY diagnosis;

-- chronic diagnoses in 2024
SELECT diagnosis, {count(*)}
FROM visits
WHERE diagnosis IN ('diabetes', 'hypertension', 'asthma', 'copd') AND day BETWEEN '2024-01-01' AND '2024-12-31'
GROUP BY diagnosis;

-- laboratory values of a patient
SELECT {avg(n)} FROM (SELECT v.patient_id, count(*) AS n FROM labs l JOIN visits v ON v.id = l.visit_id GROUP BY v.patient_id) t;

-- visits by hospital
SELECT hospital_id, {count(*)} FROM visits GROUP BY hospital_id ORDER BY hospital_id;

-- share of patients with cancer by region
SELECT p.region, {100.0 * count(DISTINCT v.patient_id) / count(DISTINCT p.id) AS percent | 100.0 | count(DISTINCT v.patient_id) | count(DISTINCT p.id)}
FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.diagnosis = 'cancer'
GROUP BY p.region;

-- ten busiest hospitals
SELECT h.name, {count(*) AS visits} FROM visits v JOIN hospitals h ON v.hospital_id = h.id GROUP BY h.name ORDER BY visits DESC LIMIT 10;
SELECT h.name, {count(*) AS visits} FROM visits v JOIN hospitals h ON v.hospital_id = h.id GROUP BY h.name;

-- visits by region of the hospital
SELECT h.region, {count(*)} FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY h.region;

-- turnover of hospitals
SELECT h.name, {sum(v.cost) AS turnover}
FROM hospitals h JOIN visits v ON v.hospital_id = h.id
GROUP BY h.name
HAVING sum(v.cost) > 20000000
ORDER BY turnover DESC;
SELECT h.name, {sum(v.cost) AS turnover}
FROM hospitals h JOIN visits v ON v.hospital_id = h.id
GROUP BY h.name;

-- visits by hospital and year, above 6,000
WITH n AS (SELECT hospital_id, extract(year FROM day) AS year, {count(*) AS visits} FROM visits GROUP BY 1, 2)
SELECT h.name, n.year, {n.visits} FROM n JOIN hospitals h ON h.id = n.hospital_id WHERE n.visits > 6000;
WITH n AS (SELECT hospital_id, extract(year FROM day) AS year, {count(*) AS visits} FROM visits GROUP BY 1, 2)
SELECT h.name, n.year, {n.visits} FROM n JOIN hospitals h ON h.id = n.hospital_id;

-- visits outside of the own region
SELECT {count(*)}
FROM visits v JOIN patients p ON p.id = v.patient_id JOIN hospitals h ON h.id = v.hospital_id
WHERE p.region <> h.region;

-- patients and the hospitals of their region
SELECT {count(*)} FROM patients JOIN hospitals USING (region);

-- hospitals in reach of patients, by region
SELECT h.region, {count(*)} FROM patients p JOIN hospitals h ON h.region = p.region GROUP BY h.region;

-- total cost
SELECT {sum(cost)} FROM visits;

-- cost by month of 2024
SELECT date_trunc('month', day)::date AS month, {sum(cost) AS cost} FROM visits WHERE day >= '2024-01-01' GROUP BY 1 ORDER BY 1;

-- mean cost
SELECT {avg(cost)} FROM visits;

-- the heaviest patient
SELECT {max(n)} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- mean cost by diagnosis
SELECT diagnosis, {avg(cost) AS mean}, {count(*) AS n} FROM visits GROUP BY diagnosis ORDER BY mean DESC;

-- cost of a visit by division
SELECT diagnosis, {sum(cost) / count(*) AS mean | 1 | sum(cost) | count(*)} FROM visits GROUP BY diagnosis;

-- median cost
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS median} FROM visits;

-- quartiles of cost
SELECT {percentile_cont(0.25) WITHIN GROUP (ORDER BY cost) AS q1}, {percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS q2},
       {percentile_cont(0.75) WITHIN GROUP (ORDER BY cost) AS q3}
FROM visits;

-- median cost by diagnosis
SELECT diagnosis, {percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS median} FROM visits GROUP BY diagnosis;

-- ninetieth percentile of the cost of cancer
SELECT {percentile_disc(0.9) WITHIN GROUP (ORDER BY cost) AS p90} FROM visits WHERE diagnosis = 'cancer';

-- cheapest and dearest visit
SELECT {min(cost)}, {max(cost)} FROM visits;

-- spread of cost
SELECT {stddev(cost)}, {variance(cost)} FROM visits;

-- visits above 1,000
SELECT {count(*)} FROM visits WHERE cost > 1000;

-- share of visits above 1,000
SELECT {count(*) FILTER (WHERE cost > 1000)::numeric / count(*) AS share | 1.0 | count(*) FILTER (WHERE cost > 1000) | count(*)} FROM visits;

-- visits by band of cost
SELECT CASE WHEN cost < 100 THEN 'low' WHEN cost < 1000 THEN 'middle' ELSE 'high' END AS band, {count(*)}, {sum(cost)}
FROM visits
GROUP BY band;

-- histogram of cost
SELECT width_bucket(cost, 0, 2000, 10) AS bucket, {count(*)} FROM visits GROUP BY bucket ORDER BY bucket;

-- patients who came
SELECT {count(DISTINCT patient_id)} FROM visits;

-- patients by diagnosis
SELECT diagnosis, {count(DISTINCT patient_id) AS patients} FROM visits GROUP BY diagnosis ORDER BY patients DESC;

-- patients by year
SELECT extract(year FROM day) AS year, {count(DISTINCT patient_id) AS patients}, {count(*) AS visits} FROM visits GROUP BY year ORDER BY year;

-- visits per patient
SELECT {count(*)::float / count(DISTINCT patient_id) AS visits | 1.0 | count(*) | count(DISTINCT patient_id)} FROM visits;

-- mean number of visits
SELECT {avg(n) AS visits} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- median number of visits
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS median} FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t;

-- patients with more than ten visits
SELECT {count(*)} FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) > 10) t;

-- patients by number of visits
SELECT CASE WHEN n <= 3 THEN '1 to 3' WHEN n <= 10 THEN '4 to 10' ELSE 'more' END AS visits, {count(*) AS patients}
FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) t
GROUP BY 1;

-- mean cost of a patient
SELECT {avg(total)} FROM (SELECT patient_id, sum(cost) AS total FROM visits GROUP BY patient_id) t;

-- patients who cost more than 10,000
WITH totals AS (SELECT patient_id, sum(cost) AS total FROM visits GROUP BY patient_id)
SELECT {count(*)} FROM totals WHERE total > 10000;

-- new patients by year
SELECT extract(year FROM first) AS year, {count(*)}
FROM (SELECT patient_id, min(day) AS first FROM visits GROUP BY patient_id) t
GROUP BY year
ORDER BY year;

-- visits and cost by month of the year
SELECT extract(month FROM day) AS month, {count(*) AS visits}, {avg(cost) AS cost} FROM visits GROUP BY 1 ORDER BY 1;

-- patients with diabetes and hypertension
SELECT {count(*)}
FROM patients
WHERE id IN (SELECT patient_id FROM visits WHERE diagnosis = 'diabetes')
  AND id IN (SELECT patient_id FROM visits WHERE diagnosis = 'hypertension');

-- patients who never came
SELECT {count(*)} FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id);

-- patients without a visit, by an outer join
SELECT {count(*)} FROM patients p LEFT JOIN visits v ON v.patient_id = p.id WHERE v.id IS NULL;

-- visits of asthmatics
SELECT diagnosis, {count(*)}
FROM visits
WHERE patient_id IN (SELECT patient_id FROM visits WHERE diagnosis = 'asthma')
GROUP BY diagnosis;

-- visits by diagnosis and sex
SELECT v.diagnosis, p.sex, {count(*)} FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY v.diagnosis, p.sex ORDER BY 1, 2;

-- mean cost by sex
SELECT p.sex, {avg(v.cost)} FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY p.sex;

-- cost by age band
SELECT CASE WHEN p.birth_year > 1984 THEN 'under 40' WHEN p.birth_year > 1964 THEN '40 to 59' ELSE '60 and over' END AS age,
       {count(*) AS visits}, {sum(v.cost) AS cost}, {avg(v.cost) AS mean}
FROM visits v JOIN patients p ON p.id = v.patient_id
GROUP BY age;

-- visits of smokers
SELECT p.smoker, {count(*)} FROM visits v JOIN patients p ON p.id = v.patient_id WHERE p.smoker IS NOT NULL GROUP BY p.smoker;

-- share of cancer among visits of smokers
SELECT p.smoker, {100.0 * count(*) FILTER (WHERE v.diagnosis = 'cancer') / count(*) AS percent | 100.0 | count(*) FILTER (WHERE v.diagnosis = 'cancer') | count(*)}
FROM visits v JOIN patients p ON p.id = v.patient_id
WHERE p.smoker IS NOT NULL
GROUP BY p.smoker;

-- smokers with copd
SELECT {count(DISTINCT p.id)} FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker AND v.diagnosis = 'copd';

-- visits by region of the patient and diagnosis
SELECT p.region, v.diagnosis, {count(*)} FROM patients p, visits v WHERE v.patient_id = p.id GROUP BY 1, 2;

-- visits per patient by region
SELECT p.region, {count(v.id) AS visits}, {count(DISTINCT p.id) AS patients}
FROM patients p LEFT JOIN visits v ON v.patient_id = p.id
GROUP BY p.region;

-- cost and age
SELECT {corr(v.cost, 2024 - p.birth_year) AS correlation}, {regr_slope(v.cost, 2024 - p.birth_year) AS slope}
FROM visits v JOIN patients p ON p.id = v.patient_id;

-- growth from year to year
WITH n AS (SELECT extract(year FROM day) AS year, {count(*) AS visits} FROM visits GROUP BY 1)
SELECT year, {visits}, {visits - lag(visits) OVER (ORDER BY year) AS growth | ?} FROM n ORDER BY year;

-- mean of the months
SELECT {avg(n) AS mean | avg(n_low) | avg(n_high)} FROM (SELECT date_trunc('month', day) AS month, {count(*) AS n} FROM visits GROUP BY 1) t;

-- the busiest month
SELECT to_char(day, 'YYYY-MM') AS month, {count(*) AS n} FROM visits GROUP BY 1 ORDER BY n DESC LIMIT 1;
SELECT to_char(day, 'YYYY-MM') AS month, {count(*) AS n} FROM visits GROUP BY 1;

-- days with visits
SELECT {count(DISTINCT day)} FROM visits;

-- hospitals and diagnoses that occur
SELECT {count(DISTINCT hospital_id) AS hospitals}, {count(DISTINCT diagnosis) AS diagnoses} FROM visits;

-- rows of the tables
SELECT 'patients' AS name, {count(*)} FROM patients
UNION ALL SELECT 'visits', {count(*)} FROM visits
UNION ALL SELECT 'labs', {count(*)} FROM labs;

-- laboratory values
SELECT {count(*)}, {count(value)} FROM labs;

-- laboratory values by test
SELECT test, {count(*)} FROM labs GROUP BY test ORDER BY test;

-- lost samples by test
SELECT test, {count(*)} FROM labs WHERE value IS NULL GROUP BY test;

-- mean value by test
SELECT test, {avg(value) AS mean}, {stddev(value) AS spread} FROM labs GROUP BY test;

-- median cholesterol
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median} FROM labs WHERE test = 'chol';

-- growth from 2023 to 2024
SELECT {b.n - a.n AS growth | b.n_low - a.n_high | b.n_high - a.n_low}
FROM (SELECT {count(*) AS n} FROM visits WHERE extract(year FROM day) = 2023) a,
     (SELECT {count(*) AS n} FROM visits WHERE extract(year FROM day) = 2024) b;

-- patients with a high hba1c
SELECT {count(DISTINCT v.patient_id)} FROM labs l JOIN visits v ON v.id = l.visit_id WHERE l.test = 'hba1c' AND l.value >= 6.5;

-- glucose by diagnosis
SELECT v.diagnosis, {avg(l.value)} FROM labs l JOIN visits v ON v.id = l.visit_id WHERE l.test = 'glucose' GROUP BY v.diagnosis;

-- hdl by sex
SELECT p.sex, {avg(l.value)}, {count(*)}
FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.visit_id = v.id
WHERE l.test = 'hdl'
GROUP BY p.sex;

-- tests by diagnosis
SELECT v.diagnosis, l.test, {count(*)} FROM visits v JOIN labs l ON l.visit_id = v.id GROUP BY 1, 2 ORDER BY 1, 2;

-- visits without a test
SELECT {count(*)} FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE l.visit_id = v.id);
