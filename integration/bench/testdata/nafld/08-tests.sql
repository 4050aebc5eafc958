-- Which laboratory tests are there, and how many people took each?
/* dp: epsilon=0.1 */
SELECT test, count(DISTINCT person_id) AS people
FROM labs
GROUP BY test
ORDER BY test;
