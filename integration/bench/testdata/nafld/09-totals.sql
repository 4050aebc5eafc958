-- How many people are there by sex and age group, with totals that agree?
/* dp: epsilon=0.1 */
SELECT male, age_group, count(*) AS people
FROM people
GROUP BY ROLLUP (male, age_group)
ORDER BY male, age_group;
