-- Fixture for limits.json. Privacy unit: cust.uid. Bob (1001) has many rows, and values at the ends of their types.
CREATE TABLE cust(uid int PRIMARY KEY, name text NOT NULL, region int);
INSERT INTO cust SELECT i, 'user' || i, i % 4 FROM generate_series(1, 1001) i;
CREATE TABLE readings(uid int NOT NULL, kind text NOT NULL, big int8, wide numeric, loose numeric, f float8, r real, money numeric(12,2), few int);
INSERT INTO readings SELECT 1 + i % 1000, (ARRAY['a','b','c'])[1 + i % 3], i * 1000, i / 7.0, i, i / 3.0, i, i % 500, i % 40
  FROM generate_series(1, 4000) i;
INSERT INTO readings SELECT 1001, (ARRAY['a','b','c','d'])[1 + i % 4], 9223372036854775807, (ARRAY['NaN','1e1000','0'])[1 + i % 3]::numeric,
  '1e500', (ARRAY['NaN','Infinity','1e308'])[1 + i % 3]::float8, 'Infinity', 9999999999.99, i FROM generate_series(1, 3000) i;
CREATE TABLE solo(uid int NOT NULL, k int, x int8);
INSERT INTO solo SELECT 1001, i % 300, 9223372036854775807 - i FROM generate_series(1, 5000) i;
CREATE TABLE nobody(uid int NOT NULL, k int, x int8);
