-- What are the quartiles of the body-mass index, and the median of the age at entry?
/* dp: epsilon=0.1 */
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY bmi) AS bmi,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY age) AS age
FROM people;
