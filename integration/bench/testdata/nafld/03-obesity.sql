-- How many are obese? How old are those whose weight is known, and the others?
/* dp: epsilon=0.1 */
SELECT count(*) FILTER (WHERE bmi >= 30) AS obese,
       avg(age) FILTER (WHERE weight IS NOT NULL) AS known,
       avg(age) FILTER (WHERE weight IS NULL) AS unknown
FROM people;
