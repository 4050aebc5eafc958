-- How many people joined the study, and what share of them died, by sex and age?
/* dp: epsilon=0.1 */
SELECT CASE WHEN male THEN 'men' ELSE 'women' END AS sex,
       CASE WHEN age < 40 THEN 'under 40' WHEN age < 60 THEN '40 to 59' WHEN age < 75 THEN '60 to 74' ELSE '75 and over' END AS age_class,
       count(*) AS people,
       avg(status) AS died
FROM people
GROUP BY 1, 2
ORDER BY 1, 2;
