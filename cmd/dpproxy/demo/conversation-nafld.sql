-- The Mayo Clinic liver study behind dpproxy: 17,549 people, up to 513 laboratory rows each.
\d+ people

SELECT count(*) FROM labs;
SELECT male, count(*) FROM people GROUP BY male;
SELECT age_group, round(avg(value)::numeric, 1) AS mean_cholesterol FROM labs WHERE test = 'chol' GROUP BY age_group ORDER BY age_group;
SELECT event, count(*) FROM events GROUP BY event ORDER BY 2 DESC LIMIT 5;
SELECT scope, kind, round(spent, 4) AS spent, round(remaining, 4) AS remaining FROM dp.budget;
