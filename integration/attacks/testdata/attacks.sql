-- Fixture for attacks.json. Privacy unit: cust.uid. Protected: cust, orders, items, sales. Public: regions.
CREATE TABLE regions(region text PRIMARY KEY, label text);
INSERT INTO regions SELECT 'r'||i, 'Region '||i FROM generate_series(0,7) i;
CREATE TABLE cust(uid int PRIMARY KEY, name text NOT NULL, region text REFERENCES regions,
                  age int, salary int, score float8, bio text);
INSERT INTO cust SELECT i, 'user'||i, 'r'||(i%8), 20+i%60, 20000+(i*37)%80000, (i%100)/7.0,
                        repeat('x', i%50) FROM generate_series(1,1000) i;
INSERT INTO cust VALUES (1001,'Bob','r3',47,12345,3.5,'hello');
CREATE TABLE orders(oid int PRIMARY KEY, uid int REFERENCES cust, amount numeric(12,2), ts date, status text);
INSERT INTO orders SELECT i, 1+i%1000, (i%10000)/100.0, date '2024-01-01' + i%365, (ARRAY['new','paid','sent'])[1+i%3]
  FROM generate_series(1,2000) i;
CREATE TABLE items(iid int PRIMARY KEY, oid int REFERENCES orders, qty int);
INSERT INTO items SELECT i, 1+i%2000, 1+i%7 FROM generate_series(1,6000) i;
CREATE VIEW v_cust AS SELECT * FROM cust;
CREATE TABLE sales(uid int, d date, amt int) PARTITION BY RANGE(d);
CREATE TABLE sales_2024 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO sales SELECT 1+i%1001, date '2024-01-01' + i%365, i%500 FROM generate_series(1,3000) i;
-- Columns of types that can trip a comparison.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE odd(uid int PRIMARY KEY, a text COLLATE "C", b text COLLATE "POSIX", day date, at timestamptz, ts timestamp,
                 mood mood, code char(4), z numeric, f float8, tag uuid);
INSERT INTO odd SELECT i, 'user'||i, 'x', date '2024-01-01' + i%365, '2024-01-01', '2024-01-01', 'ok', 'c'||i%10, i, i, NULL FROM generate_series(1,1000) i;
INSERT INTO odd VALUES (1001, 'Bob', 'Bob', 'infinity', '-infinity', 'infinity', 'sad', 'B', 'NaN', '-0', '00000000-0000-0000-0000-000000001001');
