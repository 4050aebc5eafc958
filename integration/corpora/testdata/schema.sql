-- Three databases in one: a shop, a star schema with its dimensions, and the common data model of hospitals.
-- :people stands for the number of people in each.
CREATE TABLE products (id int PRIMARY KEY, title text NOT NULL, category text NOT NULL, vendor text NOT NULL, price numeric(10,2) NOT NULL);
INSERT INTO products SELECT g, 'product ' || g, (ARRAY['Doohickey', 'Gadget', 'Gizmo', 'Widget'])[g % 4 + 1], 'vendor ' || g % 7, 5 + g % 60
FROM generate_series(1, 40) g;

CREATE TABLE users (id int PRIMARY KEY, created_at timestamp NOT NULL, birth_date date NOT NULL, source text NOT NULL, state text NOT NULL,
  plan text NOT NULL, email text NOT NULL);
INSERT INTO users SELECT g, timestamp '2022-01-01' + g % 700 * interval '1 day' + g % 24 * interval '1 hour', date '1950-01-01' + g * 37 % 18000,
  (ARRAY['Affiliate', 'Facebook', 'Google', 'Organic', 'Twitter'])[g % 5 + 1], (ARRAY['CA', 'MT', 'NY', 'TX'])[g % 4 + 1],
  (ARRAY['basic', 'business'])[g % 2 + 1], 'user' || g || '@example.org'
FROM generate_series(1, :people) g;

CREATE TABLE orders (id int PRIMARY KEY, user_id int NOT NULL REFERENCES users, product_id int NOT NULL REFERENCES products,
  created_at timestamp NOT NULL, paid_at timestamptz, total numeric(10,2) NOT NULL, discount float8, quantity int NOT NULL,
  status text NOT NULL, channel text NOT NULL, coupon text, UNIQUE (id, created_at));
INSERT INTO orders SELECT g, g % :people + 1, g * 7 % 40 + 1, timestamp '2023-01-01' + g * 37 % 730 * interval '1 day' + g % 24 * interval '1 hour',
  CASE WHEN g % 5 > 0 THEN timestamptz '2023-01-02 00:00+00' + g * 37 % 730 * interval '1 day' END, (10 + g * 13 % 190)::numeric(10,2),
  CASE WHEN g % 3 = 0 THEN (g % 30)::float8 END, 1 + g % 6, (ARRAY['cancelled', 'open', 'paid', 'shipped'])[g % 4 + 1],
  (ARRAY['app', 'store', 'web'])[g % 3 + 1], CASE WHEN g % 10 = 0 THEN 'c' || g % 4 END
FROM generate_series(1, 4 * :people) g;

CREATE TABLE order_items (id int PRIMARY KEY, order_id int NOT NULL, created_at timestamp NOT NULL, product_id int NOT NULL REFERENCES products,
  quantity int NOT NULL, price numeric(10,2) NOT NULL, FOREIGN KEY (order_id, created_at) REFERENCES orders (id, created_at));
INSERT INTO order_items SELECT 2 * o.id + i, o.id, o.created_at, (o.id * 3 + i) % 40 + 1, 1 + (o.id + i) % 4, 5 + (o.id * 11 + i) % 60
FROM orders o, generate_series(0, 1) i;

CREATE TABLE events (id bigint PRIMARY KEY, user_id int REFERENCES users, at timestamptz NOT NULL, page text NOT NULL, seconds float8 NOT NULL);
INSERT INTO events SELECT g, CASE WHEN g % 8 > 0 THEN g % :people + 1 END, timestamptz '2024-03-01 00:00+00' + g * 53 % 4320 * interval '10 minutes',
  (ARRAY['/', '/cart', '/checkout', '/help'])[g % 4 + 1], (g % 50) / 10.0
FROM generate_series(1, 6 * :people) g;

-- The star schema.
CREATE SCHEMA star;
CREATE TABLE star.date_dim (d_date_sk int PRIMARY KEY, d_date date NOT NULL UNIQUE, d_year int NOT NULL, d_moy int NOT NULL, d_qoy int NOT NULL,
  d_dow int NOT NULL, d_day_name text NOT NULL, d_month_seq int NOT NULL);
INSERT INTO star.date_dim SELECT 2450000 + g, day, extract(year FROM day), extract(month FROM day), extract(quarter FROM day), extract(dow FROM day),
  trim(to_char(day, 'Day')), (extract(year FROM day) - 1900) * 12 + extract(month FROM day) - 1
FROM (SELECT g, date '2020-01-01' + g AS day FROM generate_series(0, 1460) g) d;
CREATE TABLE star.item (i_item_sk int PRIMARY KEY, i_item_id text NOT NULL, i_category text NOT NULL, i_class text NOT NULL, i_brand text NOT NULL,
  i_brand_id int NOT NULL, i_manager_id int NOT NULL, i_current_price numeric(7,2) NOT NULL);
INSERT INTO star.item SELECT g, 'ITEM' || g, (ARRAY['Books', 'Children', 'Electronics', 'Home', 'Music', 'Shoes', 'Sports'])[g % 7 + 1],
  'class ' || g % 21, 'brand ' || g % 42, g % 42, g % 10, 1 + g % 99 FROM generate_series(1, 210) g;
CREATE TABLE star.store (s_store_sk int PRIMARY KEY, s_store_name text NOT NULL, s_state text NOT NULL, s_gmt_offset int NOT NULL);
INSERT INTO star.store SELECT g, (ARRAY['able', 'ation', 'bar', 'ese', 'ought'])[g], (ARRAY['TN', 'SD'])[g % 2 + 1], -5 - g % 2 FROM generate_series(1, 5) g;
CREATE TABLE star.household_demographics (hd_demo_sk int PRIMARY KEY, hd_dep_count int NOT NULL, hd_vehicle_count int NOT NULL);
INSERT INTO star.household_demographics SELECT g, g % 10, g % 5 FROM generate_series(1, 50) g;
CREATE TABLE star.customer (c_customer_sk int PRIMARY KEY, c_customer_id text NOT NULL UNIQUE, c_current_hdemo_sk int REFERENCES star.household_demographics,
  c_birth_year int, c_birth_month int, c_preferred_cust_flag text);
INSERT INTO star.customer SELECT g, 'CUSTOMER' || g, g % 50 + 1, 1930 + g % 65, 1 + g % 12, (ARRAY['N', 'Y'])[g % 2 + 1] FROM generate_series(1, :people) g;
CREATE TABLE star.store_sales (ss_item_sk int NOT NULL REFERENCES star.item, ss_ticket_number int NOT NULL, ss_sold_date_sk int REFERENCES star.date_dim,
  ss_customer_sk int REFERENCES star.customer, ss_store_sk int REFERENCES star.store, ss_hdemo_sk int REFERENCES star.household_demographics,
  ss_quantity int, ss_sales_price numeric(7,2), ss_ext_sales_price numeric(9,2), ss_net_profit numeric(9,2), PRIMARY KEY (ss_item_sk, ss_ticket_number));
INSERT INTO star.store_sales SELECT g * 11 % 210 + 1, g, 2450000 + g * 17 % 1461, g % :people + 1, g % 5 + 1, g % 50 + 1, 1 + g % 100,
  (g * 7 % 200)::numeric(7,2), (g * 29 % 2000)::numeric(9,2), (g * 31 % 1000 - 300)::numeric(9,2)
FROM generate_series(1, 6 * :people) g;
CREATE TABLE star.store_returns (sr_item_sk int NOT NULL, sr_ticket_number int NOT NULL, sr_returned_date_sk int REFERENCES star.date_dim,
  sr_customer_sk int REFERENCES star.customer, sr_store_sk int REFERENCES star.store, sr_return_amt numeric(9,2), PRIMARY KEY (sr_item_sk, sr_ticket_number),
  FOREIGN KEY (sr_item_sk, sr_ticket_number) REFERENCES star.store_sales);
INSERT INTO star.store_returns SELECT ss_item_sk, ss_ticket_number, ss_sold_date_sk, ss_customer_sk, ss_store_sk, ss_ext_sales_price
FROM star.store_sales WHERE ss_ticket_number % 6 = 0;

-- The common data model.
CREATE SCHEMA cdm;
CREATE TABLE cdm.concept (concept_id int PRIMARY KEY, concept_name text NOT NULL, domain_id text NOT NULL, vocabulary_id text NOT NULL, standard_concept text);
INSERT INTO cdm.concept SELECT g, 'concept ' || g, CASE WHEN g <= 60 THEN 'Condition' ELSE 'Drug' END, CASE WHEN g <= 60 THEN 'SNOMED' ELSE 'RxNorm' END, 'S'
FROM generate_series(1, 120) g;
INSERT INTO cdm.concept VALUES (8507, 'MALE', 'Gender', 'Gender', 'S'), (8532, 'FEMALE', 'Gender', 'Gender', 'S'), (9201, 'Inpatient Visit', 'Visit', 'Visit', 'S'),
  (9202, 'Outpatient Visit', 'Visit', 'Visit', 'S'), (9203, 'Emergency Room Visit', 'Visit', 'Visit', 'S');
CREATE TABLE cdm.concept_ancestor (ancestor_concept_id int NOT NULL, descendant_concept_id int NOT NULL, min_levels_of_separation int NOT NULL);
INSERT INTO cdm.concept_ancestor SELECT a, d, CASE WHEN a = d THEN 0 ELSE 1 END FROM generate_series(1, 120) a, generate_series(1, 120) d
WHERE a = d OR a <= 12 AND d % 12 = a % 12 AND d <= 60 OR a BETWEEN 61 AND 66 AND d % 6 = a % 6 AND d > 60;
CREATE TABLE cdm.person (person_id int PRIMARY KEY, gender_concept_id int NOT NULL REFERENCES cdm.concept, year_of_birth int NOT NULL, month_of_birth int,
  race_concept_id int NOT NULL, location_id int);
INSERT INTO cdm.person SELECT g, CASE WHEN g % 2 = 0 THEN 8507 ELSE 8532 END, 1925 + g * 7 % 85, 1 + g % 12, 0, g % 9 FROM generate_series(1, :people) g;
CREATE TABLE cdm.observation_period (observation_period_id int PRIMARY KEY, person_id int NOT NULL UNIQUE REFERENCES cdm.person,
  observation_period_start_date date NOT NULL, observation_period_end_date date NOT NULL);
INSERT INTO cdm.observation_period SELECT g, g, date '2012-01-01' + g * 13 % 1000, date '2016-01-01' + g * 13 % 2500 FROM generate_series(1, :people) g;
CREATE TABLE cdm.visit_occurrence (visit_occurrence_id int PRIMARY KEY, person_id int NOT NULL REFERENCES cdm.person, visit_concept_id int NOT NULL REFERENCES cdm.concept,
  visit_start_date date NOT NULL, visit_end_date date NOT NULL, CHECK (visit_end_date >= visit_start_date));
INSERT INTO cdm.visit_occurrence SELECT g, g % :people + 1, (ARRAY[9201, 9202, 9203])[g % 3 + 1], day, day + CASE WHEN g % 3 = 0 THEN g % 14 ELSE 0 END
FROM (SELECT g, date '2012-01-01' + g * 31 % 3600 AS day FROM generate_series(1, 5 * :people) g) v;
CREATE TABLE cdm.condition_occurrence (condition_occurrence_id int PRIMARY KEY, person_id int NOT NULL REFERENCES cdm.person,
  condition_concept_id int NOT NULL REFERENCES cdm.concept, condition_start_date date NOT NULL, condition_end_date date,
  visit_occurrence_id int REFERENCES cdm.visit_occurrence);
INSERT INTO cdm.condition_occurrence SELECT g, v.person_id, v.visit_occurrence_id * 7 % 60 + 1, v.visit_start_date,
  CASE WHEN g % 2 = 0 THEN v.visit_start_date + (g % 90)::int END, v.visit_occurrence_id
FROM (SELECT row_number() OVER (ORDER BY visit_occurrence_id) AS g, * FROM cdm.visit_occurrence) v;
CREATE TABLE cdm.drug_exposure (drug_exposure_id int PRIMARY KEY, person_id int NOT NULL REFERENCES cdm.person, drug_concept_id int NOT NULL REFERENCES cdm.concept,
  drug_exposure_start_date date NOT NULL, days_supply int, quantity numeric(8,2));
INSERT INTO cdm.drug_exposure SELECT g, g % :people + 1, 61 + g * 11 % 60, date '2012-01-01' + g * 29 % 3600, 10 * (1 + g % 9), 1 + g % 60
FROM generate_series(1, 4 * :people) g;
-- So that the truth is found soon.
CREATE INDEX ON orders (user_id);
CREATE INDEX ON order_items (order_id);
CREATE INDEX ON events (user_id);
CREATE INDEX ON star.store_sales (ss_customer_sk);
CREATE INDEX ON star.store_returns (sr_customer_sk);
CREATE INDEX ON cdm.visit_occurrence (person_id);
CREATE INDEX ON cdm.condition_occurrence (person_id);
CREATE INDEX ON cdm.condition_occurrence (visit_occurrence_id);
CREATE INDEX ON cdm.drug_exposure (person_id);
ANALYZE;
