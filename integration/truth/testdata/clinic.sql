-- count of visits
SELECT {count(*)} FROM visits;

-- count of visits, by noise alone
SELECT {count(*) | count(*) - 1.96 * dp.stderr(count(*)) | count(*) + 1.96 * dp.stderr(count(*))} FROM visits;

-- visits by diagnosis
SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis ORDER BY count(*) DESC;

-- visits by month
SELECT date_trunc('month', day) AS month, {count(*)} FROM visits GROUP BY month ORDER BY month;
