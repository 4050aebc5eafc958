-- pass rate of each course
SELECT c.title, avg(e.passed::int) FROM enrolments e JOIN courses c ON c.id = e.course_id GROUP BY c.title;

-- weighted mean of grades
SELECT sum(e.grade * c.credits) / sum(c.credits) FROM enrolments e JOIN courses c ON c.id = e.course_id WHERE e.grade IS NOT NULL;

-- grades by letter
SELECT CASE WHEN grade < 1.5 THEN 'A' WHEN grade < 2.5 THEN 'B' WHEN grade < 3.5 THEN 'C' ELSE 'D' END AS letter, count(*) FROM enrolments GROUP BY 1;

-- students without enrolment
SELECT count(*) FROM students s WHERE NOT EXISTS (SELECT FROM enrolments e WHERE e.student_id = s.id AND e.term = '2023W');

-- credits of each student
SELECT width_bucket(credits, 0, 60, 6) AS band, count(*)
FROM (SELECT e.student_id, sum(c.credits) AS credits FROM enrolments e JOIN courses c ON c.id = e.course_id WHERE e.passed GROUP BY e.student_id) t GROUP BY 1;

-- attempts until passed
SELECT n, count(*) FROM (
  SELECT passed, row_number() OVER (PARTITION BY student_id, course_id ORDER BY day) AS n FROM enrolments) t WHERE passed GROUP BY n;

-- improvement between attempts
SELECT avg(grade - before) FROM (
  SELECT grade, lag(grade) OVER (PARTITION BY student_id, course_id ORDER BY day) AS before FROM enrolments) t;

-- first grade of each student
SELECT avg(grade) FROM (SELECT DISTINCT ON (student_id) student_id, grade FROM enrolments WHERE grade IS NOT NULL ORDER BY student_id, day) t;

-- latest grade of each course
SELECT course_id, avg(grade) FROM (
  SELECT DISTINCT ON (student_id, course_id) student_id, course_id, grade FROM enrolments ORDER BY student_id, course_id, day DESC) t
WHERE course_id BETWEEN 1 AND 20 GROUP BY course_id;

-- semesters since start
SELECT extract(year FROM age(e.day, s.started)) AS years, count(*) FROM enrolments e JOIN students s ON s.id = e.student_id GROUP BY 1;

-- dropout between terms
SELECT count(*) FROM (SELECT student_id FROM enrolments WHERE term = '2022W' EXCEPT SELECT student_id FROM enrolments WHERE term = '2023S') t;

-- terms beside each other
SELECT c.department, count(*) FILTER (WHERE term = '2022W') AS winter, count(*) FILTER (WHERE term = '2023S') AS summer
FROM enrolments e JOIN courses c ON c.id = e.course_id GROUP BY ROLLUP (c.department);

-- attendance and grade
SELECT regr_slope(e.grade, a.minutes) FROM enrolments e JOIN attendance a ON a.student_id = e.student_id AND a.course_id = e.course_id;

-- attendance in the month before
SELECT avg(n) FROM (
  SELECT e.student_id, e.id, count(a.id) AS n FROM enrolments e LEFT JOIN attendance a ON a.student_id = e.student_id AND a.day BETWEEN e.day - 30 AND e.day
  GROUP BY e.student_id, e.id) t;

-- standard deviation of grades, z-scores of courses
SELECT course_id, (avg(grade) - avg(avg(grade)) OVER ()) / nullif(stddev(avg(grade)) OVER (), 0) AS z FROM enrolments
WHERE course_id BETWEEN 1 AND 20 GROUP BY course_id;

-- median grade by department
SELECT c.department, percentile_disc(0.5) WITHIN GROUP (ORDER BY e.grade) FROM enrolments e JOIN courses c ON c.id = e.course_id GROUP BY 1;

-- grade most often given
SELECT mode() WITHIN GROUP (ORDER BY round(grade)) FROM enrolments;

-- all passed
SELECT count(*) FROM (SELECT student_id FROM enrolments GROUP BY student_id HAVING bool_and(passed)) t;

-- students of three courses at once
SELECT count(*) FROM (SELECT student_id FROM enrolments WHERE course_id IN (1, 2, 3) GROUP BY student_id HAVING count(DISTINCT course_id) = 3) t;

-- enrolled in all courses of a department (refused)
SELECT count(*) FROM students s WHERE NOT EXISTS (
  SELECT 1 FROM courses c WHERE c.department = 'maths' AND NOT EXISTS (SELECT 1 FROM enrolments e WHERE e.student_id = s.id AND e.course_id = c.id));

-- best grade of each student
SELECT round(best) AS grade, count(*) FROM (SELECT student_id, min(grade) AS best FROM enrolments GROUP BY student_id) t GROUP BY 1;

-- academic year of an enrolment
SELECT extract(year FROM day - interval '9 months') AS academic_year, count(*) FROM enrolments GROUP BY 1;

-- days of the week by name
SELECT to_char(day, 'Day') AS weekday, sum(minutes) FROM attendance GROUP BY 1;

-- names of students above a grade (refused without a statement)
SELECT name FROM students WHERE id IN (SELECT student_id FROM enrolments WHERE grade < 1.5);

-- rank of students (refused)
SELECT student_id, rank() OVER (ORDER BY avg(grade)) FROM enrolments GROUP BY student_id;

-- percentile of one student's mean
SELECT avg((mean < 2.0)::int) FROM (SELECT student_id, avg(grade) AS mean FROM enrolments GROUP BY student_id) t;

-- json for a dashboard
SELECT json_agg(t) FROM (SELECT programme, count(*) AS students FROM students GROUP BY programme) t;

-- rows as json (refused)
SELECT jsonb_agg(e) FROM enrolments e;
