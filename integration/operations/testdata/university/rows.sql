-- Made-up rows: 6,000 students, about 24,000 enrollments, 36,000 submissions, 18,000 payments, 900 refunds.
INSERT INTO "Departments" SELECT g, (ARRAY['Logic', 'Physics', 'History', 'Law'])[g], (ARRAY['Arts', 'Science', 'Arts', 'Law'])[g]
  FROM generate_series(1, 4) g;
INSERT INTO courses SELECT d, 100 + n, 'course ' || n, 1 + n % 12 FROM generate_series(1, 4) d, generate_series(1, 10) n;
INSERT INTO "Students" (id, "FamilyName", email, born, degree, department, sex, abroad, commute_km)
  SELECT md5('student ' || g)::uuid, 'name ' || g, g || '@uni.example', date '1985-01-01' + g % 8000,
    (ARRAY['bachelor', 'bachelor', 'bachelor', 'master', 'master', 'doctorate'])[g % 6 + 1]::"Degree", g % 4 + 1,
    (ARRAY['f', 'm', 'f', 'm', 'x'])[g % 5 + 1], g % 9 = 0, g % 37 + 0.5
  FROM generate_series(1, 6000) g;
INSERT INTO enrollments SELECT md5('student ' || g)::uuid, g % 4 + 1, 101 + (g + n) % 10,
    (ARRAY['2023S', '2023W', '2024S', '2024W'])[n % 4 + 1], 40 + (g * 7 + n * 13) % 60
  FROM generate_series(1, 6000) g, generate_series(0, 7) n WHERE n < 2 + g % 5;
INSERT INTO submissions (student, department, number, term, points, bonus, handed_in)
  SELECT student, department, number, term, (grade * 3 / 10)::int, number % 10, timestamptz '2024-03-01 12:00+00' + number * interval '1 hour'
  FROM enrollments WHERE grade > 55;
INSERT INTO payments SELECT md5('payment ' || g || ' ' || n)::uuid, date '2023-01-15' + n * 180, md5('student ' || g)::uuid, 200 + g % 700,
    (ARRAY['card', 'transfer', 'cash'])[g % 3 + 1]::method
  FROM generate_series(1, 6000) g, generate_series(0, 2) n;
INSERT INTO refunds SELECT md5('refund ' || payment_id)::uuid, payment_id, paid_at, amount / 2, 'moved' FROM payments WHERE amount > 865;
ANALYZE;
