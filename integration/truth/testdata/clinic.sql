-- count of visits
SELECT {count(*)} FROM visits;

-- visits by diagnosis
SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis ORDER BY count(*) DESC;

-- visits by month
SELECT date_trunc('month', day) AS month, {count(*)} FROM visits GROUP BY month ORDER BY month;
