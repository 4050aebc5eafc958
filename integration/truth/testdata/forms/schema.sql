CREATE TABLE hospitals (id int PRIMARY KEY, name text NOT NULL, region text NOT NULL, beds int NOT NULL);
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, born date NOT NULL, region text NOT NULL, smoker boolean,
  weight numeric(5,1) NOT NULL, height numeric(5,1) NOT NULL);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int NOT NULL REFERENCES hospitals,
  admitted timestamp NOT NULL, discharged timestamp, diagnosis text NOT NULL, severity int NOT NULL, cost numeric(10,2) NOT NULL,
  tags text[], wards int[], doses numeric(6,1)[], names varchar(10)[]);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL REFERENCES visits, test text NOT NULL, taken date NOT NULL, value float8);
CREATE TABLE prescriptions (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, drug text NOT NULL, day date NOT NULL, days int NOT NULL);
CREATE INDEX ON visits (patient_id);
CREATE INDEX ON labs (visit_id);
CREATE INDEX ON prescriptions (patient_id);

CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category text NOT NULL, price numeric(8,2) NOT NULL);
CREATE TABLE customers (id int PRIMARY KEY, email text NOT NULL, country text NOT NULL, signed_up date NOT NULL, tier text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, ordered timestamptz NOT NULL, status text NOT NULL,
  coupon text, total numeric(10,2) NOT NULL);
CREATE TABLE items (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, product_id int NOT NULL REFERENCES products, quantity int NOT NULL,
  price numeric(8,2) NOT NULL);
CREATE TABLE events (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, at timestamptz NOT NULL, kind text NOT NULL, page text NOT NULL);
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON items (order_id);
CREATE INDEX ON events (customer_id);

CREATE TABLE courses (id int PRIMARY KEY, title text NOT NULL, department text NOT NULL, credits int NOT NULL);
CREATE TABLE students (id int PRIMARY KEY, name text NOT NULL, gender text NOT NULL, started date NOT NULL, programme text NOT NULL);
CREATE TABLE enrolments (id int PRIMARY KEY, student_id int NOT NULL REFERENCES students, course_id int NOT NULL REFERENCES courses,
  term text NOT NULL, day date NOT NULL, grade numeric(3,1), passed boolean NOT NULL);
CREATE TABLE attendance (id int PRIMARY KEY, student_id int NOT NULL REFERENCES students, course_id int NOT NULL REFERENCES courses,
  day date NOT NULL, minutes int NOT NULL);
CREATE INDEX ON enrolments (student_id);
CREATE INDEX ON attendance (student_id);

-- A number in [0, n) that looks drawn, and is the same each time.
CREATE FUNCTION draw(g int, what text, n int) RETURNS int LANGUAGE sql IMMUTABLE
  AS $$ SELECT ('x' || substr(md5(what || g), 1, 7))::bit(28)::int % n $$;
INSERT INTO hospitals SELECT g, 'hospital ' || g, (ARRAY['north','south','east','west'])[g % 4 + 1], 100 * g FROM generate_series(1, 8) g;
INSERT INTO patients SELECT g, 'name ' || g, (ARRAY['f','m'])[g % 2 + 1], date '1930-01-01' + g * 13 % 29000,
  (ARRAY['north','south','east','west'])[g % 4 + 1], g % 5 = 0, 50 + g % 60, 150 + g % 50 FROM generate_series(1, 500) g;
INSERT INTO visits SELECT g, draw(g, 'patient', 500) + 1, draw(g, 'hospital', 8) + 1, timestamp '2022-01-01' + interval '7 hours' * g,
  timestamp '2022-01-01' + interval '7 hours' * g + interval '5 hours' * draw(g, 'stay', 40),
  (ARRAY['flu','asthma','diabetes','cancer','injury'])[draw(g, 'diagnosis', 5) + 1], draw(g, 'severity', 4) + 1, draw(g, 'cost', 300000) / 100.0
  FROM generate_series(1, 2500) g;
UPDATE visits SET tags = (ARRAY['{urgent,night}','{follow-up}','{}','{urgent,urgent,NULL}',NULL])[id % 5 + 1]::text[], wards = ARRAY[id % 4, id % 7],
  doses = ARRAY[id % 3 + 0.5], names = ARRAY['n' || id % 3];
INSERT INTO labs SELECT g, draw(g, 'visit', 2500) + 1, (ARRAY['chol','hba1c','crp'])[draw(g, 'test', 3) + 1], date '2022-01-01' + draw(g, 'taken', 730),
  draw(g, 'value', 3000) / 10.0 FROM generate_series(1, 2500) g;
INSERT INTO prescriptions SELECT g, draw(g, 'of', 500) + 1, (ARRAY['statin','insulin','metformin','aspirin'])[draw(g, 'drug', 4) + 1],
  date '2022-01-01' + draw(g, 'prescribed', 700), draw(g, 'days', 90) + 1 FROM generate_series(1, 1500) g;
INSERT INTO products SELECT g, 'product ' || g, (ARRAY['books','toys','garden','food'])[g % 4 + 1], g * 3 FROM generate_series(1, 40) g;
INSERT INTO customers SELECT g, 'c' || g || '@example.com', (ARRAY['de','fr','pl','us'])[g % 4 + 1], date '2022-01-01' + g % 365,
  (ARRAY['free','plus','pro'])[g % 3 + 1] FROM generate_series(1, 500) g;
INSERT INTO orders SELECT g, draw(g, 'customer', 500) + 1, timestamptz '2022-01-01 UTC' + interval '7 hours' * g,
  (ARRAY['paid','returned','open'])[draw(g, 'status', 3) + 1], CASE WHEN draw(g, 'has', 7) = 0 THEN 'SPRING' || draw(g, 'coupon', 3) END,
  draw(g, 'total', 40000) / 100.0 FROM generate_series(1, 2500) g;
INSERT INTO items SELECT g, draw(g, 'order', 2500) + 1, draw(g, 'product', 40) + 1, draw(g, 'quantity', 5) + 1, draw(g, 'price', 90)
  FROM generate_series(1, 4000) g;
INSERT INTO events SELECT g, draw(g, 'visitor', 500) + 1, timestamptz '2022-01-01 UTC' + interval '3 hours' * g,
  (ARRAY['view','cart','buy'])[draw(g, 'kind', 3) + 1], '/' || (ARRAY['home','item/' || g % 40,'cart','help'])[draw(g, 'page', 4) + 1]
  FROM generate_series(1, 4000) g;
ALTER TABLE visits ADD notes jsonb;
UPDATE visits SET notes = jsonb_build_object('by', (ARRAY['nurse','doctor'])[draw(id, 'by', 2) + 1]);
ALTER TABLE products ADD info jsonb;
UPDATE products SET info = jsonb_build_object('colour', (ARRAY['red','blue'])[id % 2 + 1]);
ALTER TABLE events ADD data jsonb;
UPDATE events SET data = jsonb_build_object('device', (ARRAY['ios','android'])[draw(id, 'device', 2) + 1], 'logins', draw(id, 'logins', 30),
  'beta', draw(id, 'beta', 2) = 1, 'seen', jsonb_build_object('last', date '2022-01-01' + draw(id, 'seen', 700)),
  'cart', jsonb_build_object('total', draw(id, 'cart', 10000) / 100.0));
INSERT INTO courses SELECT g, 'course ' || g, (ARRAY['maths','physics','history'])[g % 3 + 1], 3 + g % 4 FROM generate_series(1, 20) g;
INSERT INTO students SELECT g, 'student ' || g, (ARRAY['f','m','x'])[g % 3 + 1], date '2018-10-01' + (g % 5) * 365,
  (ARRAY['ba','bsc','msc'])[g % 3 + 1] FROM generate_series(1, 500) g;
INSERT INTO enrolments SELECT g, draw(g, 'student', 500) + 1, draw(g, 'course', 20) + 1, (ARRAY['2022W','2023S','2023W'])[draw(g, 'term', 3) + 1],
  date '2022-10-01' + draw(g, 'enrolled', 500), CASE WHEN draw(g, 'graded', 9) > 0 THEN 1 + draw(g, 'grade', 40) / 10.0 END, draw(g, 'passed', 6) > 0
  FROM generate_series(1, 2500) g;
INSERT INTO attendance SELECT g, draw(g, 'attendant', 500) + 1, draw(g, 'attended', 20) + 1, date '2022-10-01' + draw(g, 'on', 500),
  draw(g, 'minutes', 90) FROM generate_series(1, 3000) g;
DROP FUNCTION draw;
ANALYZE;
