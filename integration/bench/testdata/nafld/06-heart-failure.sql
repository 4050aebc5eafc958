-- Among those who ever had heart failure: how many are there, and what share died?
/* dp: epsilon=0.1 */
SELECT count(*) AS people, avg(p.status) AS died
FROM people p
WHERE EXISTS (SELECT 1 FROM events e WHERE e.person_id = p.id AND e.event = 'heart failure');
