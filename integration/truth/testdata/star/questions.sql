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
