-- Which events have more than 3,000 people had, and how often?
/* dp: epsilon=0.1, max_rows=3 */
SELECT event, count(*) AS events, count(DISTINCT person_id) AS people
FROM events
GROUP BY event
HAVING count(DISTINCT person_id) > 3000
ORDER BY event;
