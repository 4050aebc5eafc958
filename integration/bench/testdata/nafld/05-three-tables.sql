-- What is the HDL cholesterol of diabetics from the diagnosis on, by sex?
/* dp: epsilon=0.2, max_rows=20 */
SELECT CASE WHEN p.male THEN 'men' ELSE 'women' END AS sex, avg(least(l.value, 120)) AS hdl
FROM people p
JOIN events e ON e.person_id = p.id
JOIN labs l ON l.person_id = p.id
WHERE e.event = 'diabetes' AND l.test = 'hdl' AND l.days >= e.days
GROUP BY sex
ORDER BY sex;
