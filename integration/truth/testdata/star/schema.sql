-- A star schema: a fact with a calendar of 4,000 days, stores in regions, products in categories with a tree above them.
SELECT setseed(0.7);
CREATE TABLE cal (d date PRIMARY KEY, y int NOT NULL, m date NOT NULL, holiday boolean NOT NULL);
INSERT INTO cal SELECT d, extract(year FROM d), date_trunc('month', d), extract(isodow FROM d) = 7
FROM (SELECT date '2018-01-01' + n AS d FROM generate_series(0, 3999) n) t;
CREATE TABLE regions (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO regions VALUES (1, 'north'), (2, 'south'), (3, 'west');
ALTER TABLE regions ADD slogan text;
UPDATE regions SET slogan = repeat(name, 60);
CREATE TABLE stores (id int PRIMARY KEY, region_id int NOT NULL REFERENCES regions, name text NOT NULL);
INSERT INTO stores SELECT n, 1 + n % 3, 'store ' || n FROM generate_series(1, 40) n;
CREATE TABLE products (id int PRIMARY KEY, code text NOT NULL UNIQUE, category int NOT NULL, attrs jsonb);
INSERT INTO products SELECT n, 'P' || n, 1 + n % 20, jsonb_build_object('color', (ARRAY['red', 'blue'])[1 + n % 2]) FROM generate_series(1, 2000) n;
CREATE TABLE rates (currency char(3), day date, rate numeric(8, 4) NOT NULL, PRIMARY KEY (currency, day));
INSERT INTO rates SELECT c, d, 1 + length(c) / 10.0 FROM cal, unnest(ARRAY['EUR', 'USD', 'PLN']) c WHERE y >= 2023;
-- above and below in the tree, without a key
CREATE TABLE tree (above int NOT NULL, below int NOT NULL, steps int NOT NULL);
INSERT INTO tree SELECT a, b, 1 FROM generate_series(1, 20) a, generate_series(1, 20) b WHERE b % a = 0;
-- more rows than are counted by themselves, without a key
CREATE TABLE tags (product int NOT NULL, tag int NOT NULL, main boolean NOT NULL);
INSERT INTO tags SELECT p, t, t = 1 FROM generate_series(1, 2000) p, generate_series(1, 60) t;
CREATE VIEW old_stores AS SELECT id, name FROM stores WHERE id <= 10;
CREATE TABLE customers (id int PRIMARY KEY, born date NOT NULL);
INSERT INTO customers SELECT n, date '1950-01-01' + (n * 37) % 20000 FROM generate_series(1, 1000) n;
CREATE TABLE orders (
  id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, ordered_at timestamp NOT NULL, store_id int NOT NULL,
  product_id int NOT NULL REFERENCES products, currency char(3) NOT NULL, total numeric(12, 2) NOT NULL, qty int NOT NULL, status text NOT NULL, shipped date
);
INSERT INTO orders SELECT n, 1 + n % 1000, timestamp '2023-01-01' + (n * 7919 % 1000) * interval '1 day' + n % 24 * interval '1 hour',
  1 + n % 40, 1 + n % 2000, (ARRAY['EUR', 'USD', 'PLN'])[1 + n % 3], n % 400, 1 + n % 9, (ARRAY['paid', 'open', 'sent'])[1 + n % 3],
  CASE WHEN n % 5 > 0 THEN date '2023-01-03' + n * 7919 % 1000 END
FROM generate_series(1, 3000) n;
-- values that are hard to write: without a key, with NULL, twice, in several spellings
CREATE TABLE odd (id int PRIMARY KEY, n int, f float8, word text, c char(4), amount numeric, at timestamptz, b boolean);
INSERT INTO odd VALUES (1, 3, 0.1, 'it''s "so", {x} \', 'a', 1.0, '2024-03-31 02:30:00+01', true), (2, 3, 'NaN', 'NULL', 'b', 1.00, '2024-10-27 02:30:00+02', false),
  (3, NULL, 1e300, NULL, NULL, NULL, NULL, NULL), (4, 5, '-0', '', 'ab', -0.50, '2024-10-27 02:30:00+01', NULL), (5, 7, 1e-300, ' x', 'a ', 12345678901234567890.5, 'infinity', true),
  (6, 9, '-infinity', E'a\nb', '', 0, '0044-03-15 00:00:00+00 BC', false);
