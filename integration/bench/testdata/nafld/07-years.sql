-- How many first diagnoses of hypertension and lipid disorders fall into each year after entry?
/* dp: epsilon=0.1, max_rows=2, max_partitions=2 */
SELECT width_bucket(days, 0, 3650, 10) AS year, count(*) AS diagnoses
FROM events
WHERE event IN ('htn', 'dyslipidemia') AND days >= 0 AND days < 3650
GROUP BY year
ORDER BY year;
