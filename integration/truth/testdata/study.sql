-- people and deaths by sex and age
SELECT CASE WHEN male THEN 'men' ELSE 'women' END AS sex,
       CASE WHEN age < 40 THEN 'under 40' WHEN age < 60 THEN '40 to 59' WHEN age < 75 THEN '60 to 74' ELSE '75 and over' END AS age_class,
       {count(*) AS people},
       {avg(status) AS died}
FROM people
GROUP BY 1, 2
ORDER BY 1, 2;

-- quartiles of the body-mass index
SELECT {percentile_cont(0.25) WITHIN GROUP (ORDER BY bmi) AS lower_quartile},
       {percentile_cont(0.5) WITHIN GROUP (ORDER BY bmi) AS bmi},
       {percentile_cont(0.75) WITHIN GROUP (ORDER BY bmi) AS upper_quartile},
       {percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS age}
FROM people;

-- the obese, and those of unknown weight
SELECT {count(*) FILTER (WHERE bmi >= 30) AS obese},
       {avg(age) FILTER (WHERE weight IS NOT NULL) AS known},
       {avg(age) FILTER (WHERE weight IS NULL) AS unknown}
FROM people;

-- HDL of the average person
SELECT {avg(mean) AS mean}, {stddev_samp(mean) AS spread}, {avg(least(tests, 40)) AS tests}
FROM (SELECT person_id, avg(least(value, 120)) AS mean, count(*) AS tests
      FROM labs
      WHERE test = 'hdl'
      GROUP BY person_id) AS person;

-- HDL of diabetics
SELECT CASE WHEN p.male THEN 'men' ELSE 'women' END AS sex, {avg(least(l.value, 120)) AS hdl}
FROM people p
JOIN events e ON e.person_id = p.id
JOIN labs l ON l.person_id = p.id
WHERE e.event = 'diabetes' AND l.test = 'hdl' AND l.days >= e.days
GROUP BY sex
ORDER BY sex;

-- deaths after heart failure
SELECT {count(*) AS people}, {avg(p.status) AS died}
FROM people p
WHERE EXISTS (SELECT 1 FROM events e WHERE e.person_id = p.id AND e.event = 'heart failure');

-- first diagnoses by year
SELECT width_bucket(days, 0, 3650, 10) AS year, {count(*) AS diagnoses}
FROM events
WHERE event IN ('htn', 'dyslipidemia') AND days >= 0 AND days < 3650
GROUP BY year
ORDER BY year;

-- people by laboratory test
SELECT test, {count(DISTINCT person_id) AS people}
FROM labs
GROUP BY test
ORDER BY test;

-- people by sex and age, with totals
SELECT male, age_group, {count(*) AS people}
FROM people
GROUP BY ROLLUP (male, age_group)
ORDER BY male, age_group;

-- frequent events
SELECT event, {count(*) AS events}, {count(DISTINCT person_id) AS people}
FROM events
GROUP BY event
HAVING count(DISTINCT person_id) > 3000
ORDER BY event;
SELECT event, {count(*) AS events}, {count(DISTINCT person_id) AS people}
FROM events
GROUP BY event;

-- laboratory values
SELECT {count(*)} FROM labs;

-- laboratory values by test
SELECT test, {count(*)} FROM labs GROUP BY test ORDER BY test;
