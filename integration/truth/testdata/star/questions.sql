-- the calendar by a cast
SELECT c.y, count(*) FROM orders o JOIN cal c ON c.d = o.ordered_at::date GROUP BY c.y;

-- the calendar by date()
SELECT c.m, count(*) FROM orders o, cal c WHERE c.d = date(o.ordered_at) AND c.y = 2024 GROUP BY c.m;

-- the day after
SELECT count(*) FROM orders o JOIN cal c ON c.d = o.shipped + 1 WHERE c.holiday;

-- a left join
SELECT c.holiday, count(*) FROM orders o LEFT JOIN cal c ON c.d = o.shipped + 1 GROUP BY c.holiday;

-- EXISTS
SELECT count(*) FROM orders o WHERE EXISTS (SELECT FROM cal c WHERE c.d = o.ordered_at::date AND c.holiday);

-- IN
SELECT count(*) FROM orders o WHERE o.ordered_at::date IN (SELECT d FROM cal WHERE holiday);

-- two columns of a key
SELECT sum(o.total * r.rate) FROM orders o JOIN rates r ON r.currency = o.currency AND r.day = o.ordered_at::date;

-- three dimensions and a snowflake
SELECT g.name, c.y, count(*) FROM orders o JOIN cal c ON c.d = o.ordered_at::date JOIN stores s ON s.id = o.store_id
JOIN regions g ON g.id = s.region_id JOIN products p ON p.id = o.product_id WHERE p.category IN (1, 2, 3) GROUP BY 1, 2;

-- dimensions before the fact
SELECT g.name, sum(o.qty) FROM regions g, stores s, cal c, orders o
WHERE g.id = s.region_id AND s.id = o.store_id AND c.d = o.ordered_at::date AND c.y = 2023 GROUP BY g.name;

-- a code that is computed
SELECT p.category, count(*) FROM orders o JOIN products p ON p.code = 'P' || o.product_id::text WHERE p.category < 5 GROUP BY 1;

-- parameters
WITH params AS (SELECT 5 AS n) SELECT count(*) FROM orders, params WHERE qty > n;

-- a range of time
WITH p AS (SELECT timestamp '2024-01-01' AS lo, timestamp '2024-04-01' AS hi)
SELECT date_trunc('month', ordered_at), count(*) FROM orders, p WHERE ordered_at >= p.lo AND ordered_at < p.hi GROUP BY 1;

-- a name for an expression
SELECT sum(l.dbl) FROM orders o CROSS JOIN LATERAL (SELECT qty * 2 AS dbl) l;

-- a list beside each row
SELECT u, count(*) FROM orders o CROSS JOIN LATERAL unnest(ARRAY['a', 'b']) u GROUP BY u;

-- different values
SELECT y.y, count(*) FROM orders o JOIN (SELECT DISTINCT y FROM cal) y ON y.y = extract(year FROM o.ordered_at) GROUP BY y.y;

-- an aggregate as one row
WITH p AS (SELECT max(d) AS hi, min(d) AS lo FROM cal WHERE y = 2024) SELECT count(*) FROM orders, p WHERE ordered_at::date BETWEEN lo AND hi;

-- groups with a condition
SELECT count(*) FROM orders o JOIN (SELECT region_id, min(id) AS first FROM stores GROUP BY region_id HAVING count(*) > 12) s ON s.first = o.store_id;

-- the first three
SELECT count(*) FROM orders o WHERE o.store_id IN (SELECT id FROM stores ORDER BY name DESC LIMIT 3);

-- ranks
SELECT r.n, count(*) FROM orders o JOIN (SELECT id, ntile(4) OVER (ORDER BY id) AS n FROM stores) r ON r.id = o.store_id GROUP BY r.n;

-- lists united
SELECT count(*) FROM orders WHERE store_id IN (SELECT id FROM stores WHERE id < 5 UNION SELECT 7 UNION ALL SELECT id FROM old_stores);

-- a concept set
WITH s AS (SELECT DISTINCT t.below FROM tree t JOIN regions g ON g.id = t.above WHERE g.name = 'west')
SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id JOIN s ON s.below = p.category;

-- a concept set that is not made distinct
SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id JOIN tree t ON t.below = p.category WHERE t.above = 3;

-- a tree
WITH RECURSIVE b(c) AS (SELECT 4 UNION SELECT t.below FROM tree t JOIN b ON b.c = t.above)
SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id WHERE p.category IN (SELECT c FROM b);

-- a WITH query over another
WITH a AS (SELECT region_id, count(*) AS n FROM stores GROUP BY region_id), b AS (SELECT region_id FROM a WHERE n > 12)
SELECT count(*) FROM orders o JOIN stores s ON s.id = o.store_id JOIN b ON b.region_id = s.region_id;

-- a value of a WITH query
WITH p AS (SELECT max(y) AS last FROM cal WHERE d < '2025-01-01') SELECT count(*) FROM orders WHERE extract(year FROM ordered_at) = (SELECT last FROM p);

-- a view of public rows
SELECT count(*) FROM orders o JOIN old_stores s ON s.id = o.store_id;

-- a temporary table of public rows
SELECT count(*) FROM orders o JOIN chosen_stores s ON s.id = o.store_id;

-- a temporary table as a list
SELECT count(*) FROM orders o WHERE o.store_id NOT IN (SELECT id FROM chosen_stores);

-- a temporary table of released results
SELECT count(*) FROM orders o JOIN busy b ON b.store_id = o.store_id;

-- values of json
SELECT p.color, count(*) FROM orders o JOIN (SELECT DISTINCT id, attrs ->> 'color' AS color FROM products) p ON p.id = o.product_id GROUP BY p.color;

-- a list with NULL
SELECT count(*) FROM orders o WHERE o.store_id IN (SELECT n FROM odd ORDER BY id LIMIT 6);

-- no list with NULL
SELECT count(*) FROM orders o WHERE o.store_id NOT IN (SELECT n FROM odd ORDER BY id LIMIT 6);

-- no list without NULL
SELECT count(*) FROM orders o WHERE o.store_id NOT IN (SELECT n FROM odd WHERE n IS NOT NULL ORDER BY id LIMIT 6);

-- rows without a key
SELECT count(*) FROM orders o JOIN (SELECT n FROM odd ORDER BY id LIMIT 6) p ON p.n = o.store_id;

-- a left join of rows without a key
SELECT p.n, count(*) FROM orders o LEFT JOIN (SELECT n FROM odd ORDER BY id LIMIT 6) p ON p.n = o.store_id GROUP BY 1;

-- doubles
SELECT p.f, count(*) FROM orders o JOIN (SELECT n, f FROM odd ORDER BY id LIMIT 6) p ON p.n = o.store_id GROUP BY 1;

-- texts
SELECT p.word, count(*) FROM orders o JOIN (SELECT DISTINCT n, word FROM odd) p ON p.n = o.store_id GROUP BY 1;

-- instants
SELECT p.at, count(*) FROM orders o JOIN (SELECT DISTINCT n, at FROM odd) p ON p.n = o.store_id GROUP BY 1;

-- truth values
SELECT p.b, count(*) FROM orders o JOIN (SELECT DISTINCT n, b FROM odd) p ON p.n = o.store_id GROUP BY 1;

-- more rows than lines
SELECT count(*) FROM orders o JOIN (SELECT d, y FROM cal ORDER BY d LIMIT 3000) c ON c.d = o.ordered_at::date WHERE c.y = 2024;

-- texts in arrays
SELECT c.w, count(*) FROM orders o JOIN (SELECT d, CASE WHEN holiday THEN 'it''s "so", {x} \' WHEN y = 2024 THEN NULL ELSE 'NULL' END w FROM cal ORDER BY d LIMIT 3000) c ON c.d = o.ordered_at::date GROUP BY 1;

-- no long list
SELECT count(*) FROM orders o WHERE o.product_id NOT IN (SELECT id FROM products ORDER BY id LIMIT 1950);

-- two lists of one WITH query
WITH s AS (SELECT id FROM stores ORDER BY id LIMIT 10) SELECT count(*) FROM orders o WHERE o.store_id IN (SELECT id FROM s) OR o.store_id IN (SELECT id + 20 FROM s);

-- public rows above a released result
WITH busy2 AS (SELECT store_id, count(*) n FROM orders GROUP BY 1), top AS (SELECT store_id FROM busy2 ORDER BY n DESC, store_id LIMIT 40) SELECT count(*) FROM orders o JOIN top USING (store_id);

-- a value, and a list tied to the row
SELECT count(*) FROM orders o JOIN cal c ON c.d = o.ordered_at::date WHERE c.y = (SELECT max(y) FROM cal WHERE d < '2025-01-01') AND EXISTS (SELECT FROM chosen_stores s WHERE s.id = o.store_id);

-- a name in a condition
SELECT count(*) FROM orders o, LATERAL (SELECT o.qty + 1 AS q) l WHERE l.q > 5;

-- a name of a name
SELECT l.q, count(*) FROM orders o, LATERAL (SELECT o.qty % 3 AS q) l, LATERAL (SELECT l.q + 1 AS r) m WHERE m.r > 1 GROUP BY l.q;

-- a name over two tables
SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.id CROSS JOIN LATERAL (SELECT o.ordered_at::date - c.born AS age) a WHERE a.age > 20000;

-- values
SELECT v.label, count(*) FROM orders o JOIN (VALUES ('paid', 'x'), ('open', 'y'), ('sent', 'y')) v(status, label) ON v.status = o.status GROUP BY 1;

-- a row before the table
SELECT count(*) FROM (SELECT 1 AS one) p JOIN orders o ON o.qty > p.one;

-- a natural join with a row
SELECT count(*) FROM orders o NATURAL JOIN (SELECT 3 AS qty) p;

-- a row by USING
SELECT count(*) FROM orders o JOIN (SELECT 3 AS qty) p USING (qty);

-- more rows than constants, refused: 54000
SELECT count(*) FROM orders o JOIN (SELECT DISTINCT p.id, s.id % 10 AS k FROM products p, stores s) x ON x.id = o.product_id AND x.k = o.qty;

-- protected rows where public ones can be, refused: PB004
SELECT count(*) FROM orders o JOIN (SELECT id FROM customers ORDER BY id LIMIT 5) c ON c.id = o.customer_id;

-- a list of protected rows, refused: PB004
SELECT count(*) FROM orders o WHERE o.customer_id IN (SELECT id FROM customers ORDER BY born LIMIT 5);

-- protected rows in a function of the session, refused: PB010
CREATE FUNCTION pg_temp.secret() RETURNS int LANGUAGE sql AS 'SELECT max(id) FROM customers';
SELECT count(*) FROM orders o JOIN (SELECT DISTINCT pg_temp.secret() AS m FROM stores) c ON c.m = o.customer_id;

-- protected rows in a view of the session, refused: PB004
CREATE TEMP VIEW shown AS SELECT id FROM customers;
SELECT count(*) FROM orders o JOIN shown s ON s.id = o.store_id;

-- a type without constants, refused: 0A000
SELECT count(*) FROM orders o JOIN (SELECT DISTINCT attrs FROM products) p ON true;

-- an error of public rows, refused: 22012
SELECT count(*) FROM orders o JOIN (SELECT 1 / (id - 5) AS id FROM stores GROUP BY 1) s ON s.id = o.store_id;

-- several rows for a value, refused: 21000
WITH p AS (SELECT id FROM stores) SELECT count(*) FROM orders o WHERE store_id = (SELECT id FROM p);

-- a longer list than constants, refused: 54000
SELECT count(*) FROM orders o WHERE o.product_id IN (SELECT p.id FROM products p, stores s ORDER BY s.id, p.id LIMIT 10001);

-- an instant in two spellings
SELECT v.w, count(*) FROM orders o JOIN (SELECT n, at FROM odd) p ON p.n = o.store_id
JOIN (VALUES (timestamptz '2024-03-31 01:30:00+00', 'x'), (timestamptz '2024-03-31 03:30:00+02', 'y')) v(at, w) ON v.at = p.at GROUP BY v.w;

-- public rows that a released result chooses
WITH b AS (SELECT store_id, count(*) AS n FROM orders GROUP BY 1), top AS (SELECT store_id FROM b WHERE n > 30 ORDER BY store_id LIMIT 50)
SELECT count(*) FROM orders o JOIN top USING (store_id);

-- ANY of an array
SELECT count(*) FROM orders o WHERE o.store_id = ANY (ARRAY(SELECT id FROM stores WHERE id < 7)) AND o.store_id <> ALL (ARRAY(SELECT id FROM old_stores WHERE id > 4));

-- an aggregated array
SELECT count(*) FROM orders o WHERE o.store_id = ANY ((SELECT array_agg(id) FROM stores WHERE id < 7)::int[]);

-- the elements of an array
SELECT u, count(*) FROM orders o JOIN unnest(ARRAY(SELECT id FROM stores WHERE id < 5)) u ON u = o.store_id GROUP BY 1;

-- more than all
SELECT count(*) FROM orders o WHERE o.store_id > ALL (SELECT id FROM stores WHERE id < 7);

-- no computed value
SELECT count(*) FROM orders o WHERE o.store_id NOT IN (SELECT id + 1 FROM stores WHERE id < 7);

-- a value of another type
SELECT count(*) FROM orders o WHERE o.store_id > (SELECT avg(id) FROM stores);

-- json in a selection
WITH p AS (SELECT id, attrs ->> 'color' AS color FROM products) SELECT p.color, count(*) FROM orders o JOIN p ON p.id = o.product_id GROUP BY 1;

-- short texts in many expressions
SELECT s.name || s.name || s.name || s.name, count(*) FROM orders o JOIN stores s ON s.id = o.store_id WHERE s.name LIKE '%1%' AND s.name < 'x' GROUP BY 1;

-- the length of long texts
SELECT length(g.slogan), count(*) FROM orders o JOIN stores s ON s.id = o.store_id JOIN regions g ON g.id = s.region_id GROUP BY 1;

-- a pair in a public list
SELECT count(*) FROM orders o WHERE (o.currency, o.ordered_at::date) IN (SELECT currency, day FROM rates WHERE rate > 1 AND currency <> 'USD');

-- a pair in a computed list
SELECT count(*) FROM orders o WHERE (o.store_id, o.qty) IN (SELECT id, max(region_id) FROM stores GROUP BY id);

-- no pair of a public list, refused: PB004
SELECT count(*) FROM orders o WHERE (o.store_id, o.qty) NOT IN (SELECT id, region_id FROM stores);

-- a pair that is computed
SELECT count(*) FROM orders o WHERE (o.store_id, o.qty + 1) IN (SELECT id, region_id FROM stores);

-- constants beside each row
SELECT v.n, count(*) FROM orders o CROSS JOIN LATERAL (VALUES (1), (2)) v(n) GROUP BY 1;

-- a list with a value twice
SELECT count(*) FROM orders o JOIN (VALUES (3, 'x'), (3, 'y'), (4, 'z')) v(id, label) ON v.id = o.store_id;

-- an aggregated list with a value twice
SELECT count(*) FROM orders o JOIN (SELECT region_id, id % 2 AS odd FROM stores GROUP BY 1, 2) v ON v.region_id = o.store_id;

-- few rows of a large table
SELECT t.main, count(*) FROM orders o JOIN tags t ON t.product = o.product_id WHERE t.main OR t.tag = 4 GROUP BY 1;

-- a chain through a large table
SELECT x.above, count(*) FROM orders o JOIN products p ON p.id = o.product_id JOIN tags t ON t.product = p.id JOIN tree x ON x.below = t.tag
WHERE t.tag IN (2, 3) AND x.above < 3 GROUP BY 1;

-- a selection of a large table
SELECT count(*) FROM orders o JOIN (SELECT product, tag FROM tags WHERE tag BETWEEN 2 AND 3) t ON t.product = o.product_id;

-- two columns of a large table
SELECT t.main, count(*) FROM orders o JOIN tags t ON t.product = o.product_id AND t.tag = o.qty GROUP BY 1;

-- a large table that may have no row
SELECT count(t.tag) FROM orders o LEFT JOIN tags t ON t.product = o.product_id AND t.main;

-- a large table by an expression
SELECT count(*) FROM orders o JOIN tags t ON t.product = o.product_id + 1 AND t.main;

-- few rows of a public table, by no equality
SELECT count(*) FROM orders o JOIN cal c ON c.d > o.ordered_at AND c.d < date '2023-01-05' AND c.d > date '2023-01-01';

-- many rows of a large table, refused: 54000
SELECT count(*) FROM orders o JOIN tags t ON t.tag = o.qty;

-- the elements of a document
SELECT e.value, count(*) FROM orders o JOIN jsonb_array_elements_text('["paid", "open"]') e ON e.value = o.status GROUP BY 1;

-- rows of a document
SELECT e.n, count(*) FROM jsonb_to_recordset('[{"i": 1, "n": "a"}, {"i": 2, "n": "b"}]') AS e(i int, n text), orders o WHERE e.i = o.qty GROUP BY 1;

-- numbered rows of a function
SELECT g.n, count(*) FROM orders o JOIN generate_series(11, 20) WITH ORDINALITY g(n, i) ON g.i = o.qty GROUP BY 1;

-- a function of two arrays
SELECT e.n, count(*) FROM orders o JOIN unnest(ARRAY[1, 2, 3], ARRAY['a', 'b', 'c']) e(i, n) ON e.i = o.qty GROUP BY 1;

-- a function without an alias
SELECT count(*) FROM orders o JOIN string_to_table('paid,open', ',') ON string_to_table = o.status;

-- a function of public rows
SELECT count(*) FROM orders o, jsonb_each_text((SELECT attrs FROM products WHERE id = 1)) e WHERE e.value = 'blue';

-- a function in a selection
SELECT x.a, count(*) FROM orders o JOIN (SELECT a::int FROM string_to_table('1,2,3', ',') AS a) x ON x.a = o.qty GROUP BY 1;

-- a function of a row, refused: PB004
SELECT count(*) FROM orders o, string_to_table(o.status, 'a') s;
