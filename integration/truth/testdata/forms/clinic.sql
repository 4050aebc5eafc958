-- readmissions within 30 days
SELECT count(*) FROM visits a
WHERE EXISTS (SELECT 1 FROM visits b WHERE b.patient_id = a.patient_id AND b.admitted > a.discharged AND b.admitted <= a.discharged + interval '30 days');

-- readmissions by self-join
SELECT a.diagnosis, count(DISTINCT a.id)
FROM visits a JOIN visits b ON b.patient_id = a.patient_id AND b.admitted > a.admitted AND b.admitted < a.admitted + interval '30 days'
GROUP BY a.diagnosis;

-- readmissions by lag
SELECT count(*) FILTER (WHERE admitted - before < interval '30 days') AS again, count(*)
FROM (SELECT patient_id, admitted, lag(admitted) OVER (PARTITION BY patient_id ORDER BY admitted) AS before FROM visits) v;

-- days between visits
SELECT avg(gap) FROM (
  SELECT extract(epoch FROM admitted - lag(admitted) OVER (PARTITION BY patient_id ORDER BY admitted)) / 86400 AS gap FROM visits) g;

-- first diagnosis of each patient
SELECT diagnosis, count(*)
FROM (SELECT DISTINCT ON (patient_id) patient_id, diagnosis FROM visits ORDER BY patient_id, admitted) first
GROUP BY diagnosis;

-- first visit of each patient by row_number
SELECT diagnosis, count(*)
FROM (SELECT diagnosis, row_number() OVER (PARTITION BY patient_id ORDER BY admitted) AS n FROM visits) v
WHERE n = 1 GROUP BY diagnosis;

-- last known severity
SELECT severity, count(*)
FROM (SELECT patient_id, severity, row_number() OVER (PARTITION BY patient_id ORDER BY admitted DESC, id DESC) AS n FROM visits) v
WHERE n = 1 GROUP BY severity;

-- first two visits compared
SELECT n, avg(cost)
FROM (SELECT cost, rank() OVER (PARTITION BY patient_id ORDER BY admitted) AS n FROM visits) v
WHERE n <= 2 GROUP BY n;

-- new patients a month
SELECT date_trunc('month', first) AS month, count(*) FROM (SELECT patient_id, min(admitted) AS first FROM visits GROUP BY patient_id) f GROUP BY 1 ORDER BY 1;

-- mean age by age()
SELECT avg(extract(year FROM age(date '2024-01-01', born))) FROM patients;

-- patients by age group today
SELECT width_bucket(extract(year FROM age(born)), 0, 100, 10) AS decade, count(*) FROM patients GROUP BY decade ORDER BY decade;

-- age at admission
SELECT diagnosis, avg(date_part('year', age(v.admitted, p.born))) FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY diagnosis;

-- adults by interval
SELECT count(*) FROM patients WHERE born <= current_date - interval '18 years';

-- birthdays in a year by make_date
SELECT count(*) FROM patients WHERE make_date(2023, extract(month FROM born)::int, 1) >= date '2023-06-01';

-- body mass index
SELECT sex, avg(weight / power(height / 100, 2)) AS bmi FROM patients GROUP BY sex;

-- body mass index by operator
SELECT CASE WHEN weight / (height / 100) ^ 2 >= 30 THEN 'obese' WHEN weight / (height / 100) ^ 2 >= 25 THEN 'over' ELSE 'normal' END AS class, count(*)
FROM patients GROUP BY class;

-- body surface by Mosteller
SELECT avg(sqrt(weight * height / 3600)) FROM patients;

-- geometric mean of CRP
SELECT exp(avg(ln(value))) FROM labs WHERE test = 'crp' AND value > 0;

-- log-transformed laboratory values
SELECT test, avg(ln(value + 1)), stddev(ln(value + 1)) FROM labs GROUP BY test;

-- histogram of logarithms
SELECT floor(log(cost + 1)) AS magnitude, count(*) FROM visits GROUP BY magnitude ORDER BY magnitude;

-- length of stay
SELECT diagnosis, avg(extract(epoch FROM discharged - admitted) / 86400) AS days FROM visits GROUP BY diagnosis;

-- length of stay in whole days
SELECT avg(discharged::date - admitted::date) FROM visits;

-- median length of stay
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM discharged - admitted) / 3600) FROM visits;

-- average interval
SELECT avg(discharged - admitted) FROM visits;

-- admissions by hour and weekday
SELECT to_char(admitted, 'Dy') AS weekday, extract(hour FROM admitted) AS hour, count(*) FROM visits GROUP BY 1, 2;

-- admissions by fortnight
SELECT date_bin('14 days', admitted, timestamp '2022-01-01') AS fortnight, count(*) FROM visits GROUP BY 1 ORDER BY 1;

-- calendar of all days
SELECT d::date, count(v.id)
FROM generate_series(date '2022-01-01', date '2022-12-31', interval '1 day') d LEFT JOIN visits v ON v.admitted::date = d::date
GROUP BY d ORDER BY d;

-- calendar of months, joined to counts
WITH n AS (SELECT date_trunc('month', admitted) AS month, count(*) AS n FROM visits GROUP BY 1)
SELECT m, coalesce(n.n, 0) FROM generate_series(timestamp '2022-01-01', timestamp '2023-12-01', interval '1 month') m LEFT JOIN n ON n.month = m;

-- age bands from VALUES
SELECT b.name, count(p.id)
FROM (VALUES ('young', date '1980-01-01', date '2010-01-01'), ('old', date '1920-01-01', date '1980-01-01')) b(name, low, high)
LEFT JOIN patients p ON p.born >= b.low AND p.born < b.high
GROUP BY b.name;

-- labels from VALUES
SELECT l.label, count(*) FROM visits v JOIN (VALUES (1, 'mild'), (2, 'moderate'), (3, 'severe'), (4, 'critical')) l(severity, label) ON l.severity = v.severity
GROUP BY l.label;

-- comorbidity by IN
SELECT count(*) FROM patients
WHERE id IN (SELECT patient_id FROM visits WHERE diagnosis = 'diabetes') AND id NOT IN (SELECT patient_id FROM visits WHERE diagnosis = 'cancer');

-- comorbidity by INTERSECT
SELECT count(*) FROM (SELECT patient_id FROM visits WHERE diagnosis = 'diabetes' INTERSECT SELECT patient_id FROM visits WHERE diagnosis = 'asthma') t;

-- diabetics without insulin by EXCEPT
SELECT count(*) FROM (SELECT patient_id FROM visits WHERE diagnosis = 'diabetes' EXCEPT SELECT patient_id FROM prescriptions WHERE drug = 'insulin') t;

-- comorbid pairs
SELECT a.diagnosis, b.diagnosis, count(DISTINCT a.patient_id)
FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.diagnosis < b.diagnosis GROUP BY 1, 2;

-- sepsis-like codes by regular expression
SELECT count(*) FROM visits WHERE diagnosis ~ '^(can|dia)';

-- codes by SIMILAR TO
SELECT count(*) FROM visits WHERE diagnosis SIMILAR TO '(asth|flu)%';

-- codes by a case-insensitive expression
SELECT drug, count(*) FROM prescriptions WHERE drug ~* 'in$' GROUP BY drug;

-- chapters of codes
SELECT count(*) FROM visits WHERE diagnosis ~ '^E1[0-4]' OR diagnosis ~ '^J4[0-7](\.[0-9])?$';

-- codes that are none
SELECT count(*) FROM visits WHERE diagnosis !~ '^[A-Z][0-9]{2}\.[0-9]$' AND diagnosis ~ '^[^0-9]*$';

-- drugs with a strength
SELECT drug ~ '[0-9]+ ?mg' AS strength, count(*) FROM prescriptions GROUP BY 1;

-- visits by tag
SELECT tag, count(*) FROM visits v, unnest(v.tags) AS tag GROUP BY tag ORDER BY 2 DESC;

-- visits by tag, with those that have none
SELECT t.tag, count(*), avg(v.cost) FROM visits v LEFT JOIN LATERAL unnest(v.tags) AS t(tag) ON true GROUP BY t.tag;

-- visits by dose
SELECT dose, count(*), avg(dose) FROM visits v, unnest(v.doses) AS dose GROUP BY dose;

-- visits by name in an array of varchar
SELECT name, count(*) FROM visits v, unnest(v.names) AS name GROUP BY name;

-- doses in the list of columns
SELECT unnest(doses) AS dose, count(*) FROM visits GROUP BY 1;

-- tags in the list of columns
SELECT unnest(tags) AS tag, count(*), count(DISTINCT patient_id) FROM visits WHERE severity > 1 GROUP BY 1;

-- tags that there are
SELECT DISTINCT unnest(tags) FROM visits;

-- patients of each ward
SELECT ward, count(DISTINCT p.id) FROM patients p JOIN visits v ON v.patient_id = p.id CROSS JOIN unnest(v.wards) ward
WHERE ward BETWEEN 0 AND 6 GROUP BY ward;

-- wards of each patient
SELECT n, count(*) FROM (
  SELECT patient_id, count(DISTINCT ward) AS n FROM (SELECT patient_id, unnest(wards) AS ward FROM visits) t GROUP BY patient_id) p GROUP BY n;

-- urgent visits
SELECT diagnosis, count(*) FROM visits WHERE 'urgent' = ANY (tags) AND NOT tags @> ARRAY['night'] GROUP BY diagnosis;

-- visits of some wards
SELECT count(*) FILTER (WHERE wards && ARRAY[1, 2]), avg(cardinality(tags)), count(*) FILTER (WHERE array_length(tags, 1) > 1) FROM visits;

-- text by LIKE ANY
SELECT count(*) FROM visits WHERE diagnosis LIKE ANY (ARRAY['dia%', '%ma']);

-- pairs of test and limit
SELECT count(*) FROM visits WHERE (diagnosis, severity) IN (('flu', 4), ('asthma', 3));

-- share above the mean
SELECT count(*) FILTER (WHERE cost > (SELECT avg(cost) FROM visits)) * 1.0 / count(*) FROM visits;

-- patients above the mean by CTE
WITH mean AS (SELECT avg(cost) AS cost FROM visits) SELECT count(*) FROM visits, mean WHERE visits.cost > mean.cost;

-- highest cost of each patient
SELECT avg(top) FROM (SELECT patient_id, max(cost) AS top FROM visits GROUP BY patient_id) t;

-- frequent attenders
SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) >= 5 AND count(DISTINCT hospital_id) > 1) t;

-- sensitivity and specificity
SELECT count(*) FILTER (WHERE l.value > 100 AND v.diagnosis = 'cancer')::float / nullif(count(*) FILTER (WHERE v.diagnosis = 'cancer'), 0) AS sensitivity
FROM labs l JOIN visits v ON v.id = l.visit_id WHERE l.test = 'crp';

-- correlation of age and cost
SELECT corr(v.cost, 2024 - extract(year FROM p.born)) FROM visits v JOIN patients p ON p.id = v.patient_id;

-- odds ratio
SELECT (a::float * d) / nullif(b * c, 0) AS odds FROM (
  SELECT count(*) FILTER (WHERE smoker AND region = 'north') AS a, count(*) FILTER (WHERE smoker AND region <> 'north') AS b,
    count(*) FILTER (WHERE NOT smoker AND region = 'north') AS c, count(*) FILTER (WHERE NOT smoker AND region <> 'north') AS d FROM patients) t;

-- prescription covers admission
SELECT count(DISTINCT v.patient_id) FROM visits v JOIN prescriptions p ON p.patient_id = v.patient_id AND v.admitted::date BETWEEN p.day AND p.day + p.days
WHERE p.drug = 'insulin';

-- dear among the dear
SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > (SELECT avg(cost) FROM visits));

-- dearer visits than two thirds of a patient's own
SELECT diagnosis, count(*) FROM (SELECT diagnosis, percent_rank() OVER (PARTITION BY patient_id ORDER BY cost) AS share FROM visits) v WHERE share > 0.66 GROUP BY 1;

-- cost of the second visit
SELECT avg(second) FROM (SELECT DISTINCT ON (patient_id) patient_id, second FROM (SELECT patient_id, nth_value(cost, 2) OVER (PARTITION BY patient_id
  ORDER BY admitted ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS second FROM visits) v ORDER BY patient_id) t;

-- list of patients (refused)
SELECT * FROM patients WHERE smoker LIMIT 10;

-- rows of patients by sub-select
SELECT region, count(*) FROM (SELECT * FROM patients WHERE smoker) p GROUP BY region;

-- visits of each patient (refused)
SELECT patient_id, count(*) FROM visits GROUP BY patient_id ORDER BY 2 DESC LIMIT 10;

-- all diagnoses of a hospital in one cell (refused)
SELECT hospital_id, string_agg(DISTINCT diagnosis, ', ') FROM visits WHERE hospital_id IN (1, 2) GROUP BY hospital_id;

-- diagnoses as an array (refused)
SELECT array_agg(DISTINCT diagnosis) FROM visits;

-- last visit by LATERAL
SELECT x.diagnosis, count(*) FROM patients p
CROSS JOIN LATERAL (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.id ORDER BY v.admitted DESC LIMIT 1) x GROUP BY x.diagnosis;

-- visits beside each patient
SELECT p.region, avg((SELECT count(*) FROM visits v WHERE v.patient_id = p.id)) FROM patients p GROUP BY p.region;

-- visits that cost more than the patient's own mean
SELECT region, count(*) FROM visits v JOIN patients p ON p.id = v.patient_id WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.patient_id = v.patient_id) GROUP BY region;

-- cost of the last visit for each diagnosis
SELECT diagnosis, avg(cost) FROM visits v
WHERE admitted = (SELECT max(admitted) FROM visits w WHERE w.patient_id = v.patient_id AND w.diagnosis = v.diagnosis) GROUP BY diagnosis;

-- patients with four visits or more
SELECT count(*) FROM patients p WHERE (SELECT count(*) FROM visits v WHERE v.patient_id = p.id AND v.severity > 1) >= 4;

-- patients by whether they have prescriptions for long
SELECT (SELECT coalesce(sum(days), 0) FROM prescriptions r WHERE r.patient_id = p.id AND r.drug = 'statin') > 60 AS long, count(*) FROM patients p GROUP BY long;

-- diagnosis as in the first visit
SELECT count(*) FROM visits v WHERE diagnosis = (SELECT w.diagnosis FROM visits w WHERE w.patient_id = v.patient_id ORDER BY admitted, id LIMIT 1);

-- patients whose last lab was high, by LATERAL
SELECT p.sex, count(*) FROM patients p LEFT JOIN LATERAL (
  SELECT value FROM labs l JOIN visits v ON v.id = l.visit_id WHERE v.patient_id = p.id ORDER BY taken DESC NULLS LAST, l.id LIMIT 1) x ON true
WHERE coalesce(x.value, 0) > 150 GROUP BY p.sex;

-- patients with a prescription for long, as a key
SELECT EXISTS (SELECT 1 FROM prescriptions r WHERE r.patient_id = p.id AND r.days > 80) AS long, sex, count(*) FROM patients p GROUP BY 1, 2;

-- another visit in the same quarter, by bare names
SELECT count(*) FROM visits v WHERE EXISTS (
  SELECT 1 FROM visits w WHERE patient_id = v.patient_id AND admitted > v.admitted AND admitted < v.admitted + interval '90 days');

-- visits outside of the large hospitals
SELECT region, count(*) FROM visits v JOIN patients p ON p.id = v.patient_id WHERE hospital_id NOT IN (SELECT id FROM hospitals WHERE beds > 400) GROUP BY 1;

-- quartiles of cost by ntile
SELECT quartile, min(cost), max(cost) FROM (SELECT cost, ntile(4) OVER (ORDER BY cost) AS quartile FROM visits) t GROUP BY quartile;

-- the dearest tenth of visits by percent_rank
SELECT diagnosis, count(*) FROM (SELECT diagnosis, percent_rank() OVER (ORDER BY cost) AS pr FROM visits) t WHERE pr > 0.9 GROUP BY diagnosis;

-- quartiles of each diagnosis
SELECT diagnosis, q, avg(cost) FROM (SELECT diagnosis, cost, ntile(4) OVER (PARTITION BY diagnosis ORDER BY cost) AS q FROM visits) t GROUP BY 1, 2 ORDER BY 1, 2;

-- median by the middle row (refused)
SELECT cost FROM visits ORDER BY cost LIMIT 1 OFFSET (SELECT count(*) / 2 FROM visits);

-- most frequent cost (refused)
SELECT mode() WITHIN GROUP (ORDER BY cost) FROM visits;

-- spread of numbers without bounds (refused)
SELECT diagnosis, max(patient_id), avg(id), stddev(id) FROM visits GROUP BY diagnosis;

-- visits of each patient by position (refused)
SELECT patient_id, count(*), round(avg(cost)) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 5;

-- patients who cost much (refused)
SELECT patient_id, count(*) FROM visits GROUP BY 1 HAVING sum(cost) > 10000;

-- first two visits by LATERAL
SELECT p.region, avg(x.cost) FROM patients p JOIN LATERAL (
  SELECT cost FROM visits v WHERE v.patient_id = p.id AND v.severity > 1 ORDER BY admitted LIMIT 2) x ON true GROUP BY p.region;

-- numbers of visits by LATERAL
SELECT p.region, avg(x.n) FROM patients p, LATERAL (SELECT count(*) AS n FROM visits v WHERE v.patient_id = p.id) x GROUP BY 1;

-- whether any visit is dear (refused)
SELECT EXISTS (SELECT 1 FROM visits WHERE cost > 4900) AS dear;

-- pairs that occur (refused)
SELECT count(DISTINCT (diagnosis, severity)) FROM visits;

-- first diagnosis in the alphabet (refused)
SELECT min(diagnosis), max(diagnosis) FROM visits;

-- rows with the size of their group (refused)
SELECT *, count(*) OVER (PARTITION BY diagnosis) FROM visits;

-- first visit of each patient as rows (refused)
SELECT DISTINCT ON (patient_id) * FROM visits ORDER BY patient_id, admitted;

-- rows of an outer join
SELECT p.region, count(v.*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id GROUP BY p.region;

-- visits without labs
SELECT count(*) FROM visits v WHERE (SELECT count(*) FROM labs l WHERE l.visit_id = v.id) = 0;

-- labs a visit
SELECT v.diagnosis, avg((SELECT count(*) FROM labs l WHERE l.visit_id = v.id)) FROM visits v GROUP BY 1;

-- visits with a high value
SELECT count(*) FROM visits v WHERE (SELECT max(l.value) FROM labs l WHERE l.visit_id = v.id AND l.test = 'crp') > 50;

-- visits by the region of their hospital, looked up
SELECT (SELECT h.region FROM hospitals h WHERE h.id = v.hospital_id) AS region, count(*) FROM visits v GROUP BY 1;

-- age at admission, looked up
SELECT avg(extract(year FROM v.admitted) - (SELECT extract(year FROM p.born) FROM patients p WHERE p.id = v.patient_id)) FROM visits v;

-- labs of a diagnosis, looked up
SELECT count(*) FROM labs l WHERE (SELECT v.diagnosis FROM visits v WHERE v.id = l.visit_id) = 'diabetes';

-- visits away from home
SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id
WHERE EXISTS (SELECT 1 FROM hospitals h WHERE h.id = v.hospital_id AND h.region <> p.region);

-- dearest visits by ALL
SELECT count(*) FROM visits v WHERE cost >= ALL (SELECT cost FROM visits w WHERE w.patient_id = v.patient_id);

-- patients never treated for flu by NOT IN
SELECT count(*) FROM patients p WHERE 'flu' NOT IN (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.id);

-- last visits by a row
SELECT diagnosis, count(*) FROM visits
WHERE (patient_id, admitted) IN (SELECT patient_id, max(admitted) FROM visits GROUP BY patient_id) GROUP BY diagnosis;

-- second visits by OFFSET
SELECT avg(x.cost) FROM patients p JOIN LATERAL (SELECT cost FROM visits v WHERE v.patient_id = p.id ORDER BY admitted, id OFFSET 1 LIMIT 1) x ON true;

-- most frequent diagnosis of each patient
SELECT x.diagnosis, count(*) FROM patients p
JOIN LATERAL (SELECT v.diagnosis, count(*) AS n FROM visits v WHERE v.patient_id = p.id GROUP BY v.diagnosis ORDER BY n DESC, v.diagnosis LIMIT 1) x ON true
GROUP BY 1;

-- first visits by a WITH query
WITH f AS (SELECT patient_id AS pid, min(admitted) AS first FROM visits GROUP BY 1)
SELECT count(*) FROM visits v WHERE v.admitted = (SELECT first FROM f WHERE f.pid = v.patient_id);

-- comorbidity
SELECT a.diagnosis, b.diagnosis, count(DISTINCT a.patient_id)
FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.diagnosis < b.diagnosis GROUP BY 1, 2;

-- dear patients by HAVING
SELECT count(*) FROM (SELECT v.patient_id FROM visits v GROUP BY 1 HAVING avg(v.cost) > (SELECT avg(cost) FROM visits)) t;

-- hospitals by their visits, counted in the list (refused)
SELECT h.region, h.name, (SELECT count(*) FROM visits v WHERE v.hospital_id = h.id) FROM hospitals h ORDER BY 3 DESC;

-- tags of visits by who wrote the notes
SELECT v.notes ->> 'by' AS writer, t, count(*) FROM visits v, unnest(v.tags) t GROUP BY 1, 2;
