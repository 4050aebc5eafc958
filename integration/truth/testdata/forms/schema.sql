CREATE TABLE hospitals (id int PRIMARY KEY, name text NOT NULL, region text NOT NULL, beds int NOT NULL);
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, born date NOT NULL, region text NOT NULL, smoker boolean,
  weight numeric(5,1) NOT NULL, height numeric(5,1) NOT NULL);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int NOT NULL REFERENCES hospitals,
  admitted timestamp NOT NULL, discharged timestamp, diagnosis text NOT NULL, severity int NOT NULL, cost numeric(10,2) NOT NULL);
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

INSERT INTO hospitals SELECT g, 'hospital ' || g, (ARRAY['north','south','east','west'])[g % 4 + 1], 100 * g FROM generate_series(1, 8) g;
INSERT INTO patients SELECT g, 'name ' || g, (ARRAY['f','m'])[g % 2 + 1], date '1930-01-01' + g * 13 % 29000,
  (ARRAY['north','south','east','west'])[g % 4 + 1], g % 5 = 0, 50 + g % 60, 150 + g % 50 FROM generate_series(1, 500) g;
INSERT INTO visits SELECT g, g % 500 + 1, g % 8 + 1, timestamp '2022-01-01' + interval '7 hours' * g, timestamp '2022-01-01' + interval '7 hours' * g
  + interval '5 hours' * (g % 40), (ARRAY['flu','asthma','diabetes','cancer','injury'])[g % 5 + 1], g % 4 + 1, g * 7 % 3000 FROM generate_series(1, 2500) g;
INSERT INTO labs SELECT g, g % 2500 + 1, (ARRAY['chol','hba1c','crp'])[g % 3 + 1], date '2022-01-01' + g % 730, g % 300 FROM generate_series(1, 2500) g;
INSERT INTO prescriptions SELECT g, g % 500 + 1, (ARRAY['statin','insulin','metformin','aspirin'])[g % 4 + 1], date '2022-01-01' + g % 700, g % 90 + 1
  FROM generate_series(1, 1500) g;
INSERT INTO products SELECT g, 'product ' || g, (ARRAY['books','toys','garden','food'])[g % 4 + 1], g * 3 FROM generate_series(1, 40) g;
INSERT INTO customers SELECT g, 'c' || g || '@example.com', (ARRAY['de','fr','pl','us'])[g % 4 + 1], date '2022-01-01' + g % 365,
  (ARRAY['free','plus','pro'])[g % 3 + 1] FROM generate_series(1, 500) g;
INSERT INTO orders SELECT g, g % 500 + 1, timestamptz '2022-01-01 UTC' + interval '7 hours' * g, (ARRAY['paid','returned','open'])[g % 3 + 1],
  CASE WHEN g % 7 = 0 THEN 'SPRING' || g % 3 END, g % 400 FROM generate_series(1, 2500) g;
INSERT INTO items SELECT g, g % 2500 + 1, g % 40 + 1, g % 5 + 1, g % 90 FROM generate_series(1, 4000) g;
INSERT INTO events SELECT g, g % 500 + 1, timestamptz '2022-01-01 UTC' + interval '3 hours' * g, (ARRAY['view','cart','buy'])[g % 3 + 1],
  '/' || (ARRAY['home','item/' || g % 40,'cart','help'])[g % 4 + 1] FROM generate_series(1, 4000) g;
INSERT INTO courses SELECT g, 'course ' || g, (ARRAY['maths','physics','history'])[g % 3 + 1], 3 + g % 4 FROM generate_series(1, 20) g;
INSERT INTO students SELECT g, 'student ' || g, (ARRAY['f','m','x'])[g % 3 + 1], date '2018-10-01' + (g % 5) * 365,
  (ARRAY['ba','bsc','msc'])[g % 3 + 1] FROM generate_series(1, 500) g;
INSERT INTO enrolments SELECT g, g % 500 + 1, g % 20 + 1, (ARRAY['2022W','2023S','2023W'])[g % 3 + 1], date '2022-10-01' + g % 500,
  CASE WHEN g % 9 > 0 THEN 1 + (g % 40) / 10.0 END, g % 6 > 0 FROM generate_series(1, 2500) g;
INSERT INTO attendance SELECT g, g % 500 + 1, g % 20 + 1, date '2022-10-01' + g % 500, g % 90 FROM generate_series(1, 3000) g;
ANALYZE;
