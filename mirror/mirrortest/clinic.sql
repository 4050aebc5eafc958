-- The real database of the tests: protected patients, visits, labs and sales;
-- public hospitals, wards and regions.
CREATE SCHEMA lab;
CREATE TYPE sex_t AS ENUM ('f', 'm', 'x');
CREATE TYPE ward_t AS ENUM ('icu', 'day');
CREATE DOMAIN money_t AS numeric(12,2) CHECK (VALUE < 77777);
CREATE DOMAIN fee_t AS money_t NOT NULL;
CREATE TABLE regions (code varchar(10) PRIMARY KEY, label text);
INSERT INTO regions SELECT 'r' || i, 'Region ' || i FROM generate_series(0, 7) i;
CREATE TABLE hospitals (id int PRIMARY KEY, name text COLLATE "C", region varchar(10) REFERENCES regions, kinds ward_t[], best ward_t, fee money_t);
INSERT INTO hospitals SELECT i, 'hosp ' || i, 'r' || i % 8, '{icu,day}', 'day', i * 1.5 FROM generate_series(1, 20) i;
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex sex_t, age int DEFAULT 4711, region varchar(10) REFERENCES regions,
	"Größe" real, ssn text UNIQUE);
COMMENT ON TABLE patients IS 'Bob is one of them';
COMMENT ON COLUMN patients.age IS 'the oldest is 108';
INSERT INTO patients SELECT i, 'p' || i, (ARRAY['f', 'm', 'x'])[i % 3 + 1]::sex_t, 20 + i % 60, 'r' || i % 8, 150 + i % 50, 's' || i
	FROM generate_series(1, 200) i;
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int REFERENCES hospitals, day date,
	cost numeric(10,2) CHECK (cost < 12345), fee fee_t, qty int, CHECK (patient_id <> 13));
INSERT INTO visits SELECT i, 1 + i % 200, 1 + i % 20, date '2020-01-01' + i % 400, i / 3.0, i, i % 9 FROM generate_series(1, 500) i
	WHERE 1 + i % 200 <> 13;
CREATE UNIQUE INDEX visits_partial ON visits (day, patient_id) WHERE id < 3;
CREATE UNIQUE INDEX visits_expression ON visits (id, (qty + 1));
CREATE TABLE lab.labs (id bigint PRIMARY KEY, visit_id int NOT NULL REFERENCES visits, value float8);
INSERT INTO lab.labs SELECT i, i, i FROM generate_series(1, 5) i;
CREATE TABLE sales (uid int NOT NULL, day date NOT NULL, amount int, PRIMARY KEY (uid, day)) PARTITION BY RANGE (day);
CREATE TABLE sales_2024 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO sales SELECT i, '2024-02-02', i FROM generate_series(1, 9) i;
