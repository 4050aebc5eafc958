-- What is the average person's mean HDL cholesterol, how far do people differ, and how often is it measured?
/* dp: epsilon=0.1 */
SELECT avg(mean) AS mean, stddev_samp(mean) AS spread, avg(least(tests, 40)) AS tests
FROM (SELECT person_id, avg(least(value, 120)) AS mean, count(*) AS tests
      FROM labs
      WHERE test = 'hdl'
      GROUP BY person_id) AS person;
