-- A clinic of 100,000 patients behind dpproxy, seen by an analyst with plain psql.
-- Catalogue queries are answered by the mirror; comments show the policy.
\d
\d+ visits

-- Aggregates come back with noise; the notice says what each one cost and how wrong it may be.
SELECT count(*) FROM patients;

-- One patient has any number of visits. How much of one counts is a limit that dpproxy chooses for the
-- statement, and it measures how many patients have more.
SELECT count(*) FROM visits;
SELECT sex, count(*) FROM patients WHERE smoker GROUP BY sex ORDER BY sex;
SELECT diagnosis, count(*) FROM visits WHERE day >= '2023-01-01'
  GROUP BY diagnosis HAVING count(*) > 0 ORDER BY count(*) DESC LIMIT 5;
SELECT count(*), round(avg(cost), 2) AS mean_cost FROM visits WHERE diagnosis = 'cancer';
SELECT sum(cost) FROM visits WHERE day BETWEEN '2024-01-01' AND '2024-12-31';

-- What is left.
SELECT scope, kind, round(spent, 4) AS spent, round(remaining, 4) AS remaining FROM dp.budget;

-- Rows are refused, and nothing is charged for it.
SELECT * FROM patients LIMIT 5;
SELECT name FROM patients WHERE id = 17;

-- EXPLAIN shows the plan and its price, and charges nothing.
EXPLAIN SELECT region, count(*) FROM patients GROUP BY region;

-- More precision costs more, until the budget is gone.
SET dp.epsilon = 0.5;
SELECT count(*) FROM patients WHERE birth_year < 1950;
SELECT count(*) FROM patients WHERE birth_year < 1960;
SELECT count(*) FROM patients WHERE birth_year < 1970;
SELECT scope, kind, round(spent, 4) AS spent, round(remaining, 4) AS remaining FROM dp.budget;
