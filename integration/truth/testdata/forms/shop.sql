-- revenue by month
SELECT date_trunc('month', ordered) AS month, sum(total) AS revenue FROM orders WHERE status = 'paid' GROUP BY 1 ORDER BY 1;

-- revenue growth
SELECT month, revenue, revenue / lag(revenue) OVER (ORDER BY month) - 1 AS growth
FROM (SELECT date_trunc('month', ordered) AS month, sum(total) AS revenue FROM orders GROUP BY 1) m;

-- moving average of seven days
SELECT day, avg(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM (SELECT ordered::date AS day, count(*) AS n FROM orders GROUP BY 1) d;

-- revenue by category
SELECT p.category, sum(i.quantity * i.price) FROM items i JOIN products p ON p.id = i.product_id GROUP BY p.category ORDER BY 2 DESC;

-- products never returned (refused)
SELECT p.name FROM products p WHERE p.id NOT IN (SELECT product_id FROM items i JOIN orders o ON o.id = i.order_id WHERE o.status = 'returned');

-- products with their sales, all of them
SELECT p.name, coalesce(sum(i.quantity), 0) AS sold FROM products p LEFT JOIN items i ON i.product_id = p.id GROUP BY p.id, p.name ORDER BY sold DESC;

-- five best sellers
SELECT product_id, sum(quantity) FROM items WHERE product_id BETWEEN 1 AND 40 GROUP BY product_id ORDER BY 2 DESC LIMIT 5;

-- best seller of each category
SELECT * FROM (
  SELECT p.category, p.name, sum(i.quantity) AS sold, row_number() OVER (PARTITION BY p.category ORDER BY sum(i.quantity) DESC) AS place
  FROM items i JOIN products p ON p.id = i.product_id GROUP BY p.category, p.name) t
WHERE place = 1;

-- best seller of each category by DISTINCT ON
SELECT DISTINCT ON (p.category) p.category, p.name, count(*) AS sold
FROM items i JOIN products p ON p.id = i.product_id GROUP BY p.category, p.name ORDER BY p.category, count(*) DESC;

-- average basket
SELECT avg(basket) FROM (SELECT order_id, sum(quantity * price) AS basket FROM items GROUP BY order_id) t;

-- items an order
SELECT avg(n) FROM (SELECT o.id, o.customer_id, count(i.id) AS n FROM orders o LEFT JOIN items i ON i.order_id = o.id GROUP BY o.id, o.customer_id) t;

-- recency
SELECT width_bucket(date '2023-12-31' - last, 0, 720, 8) AS recency, count(*)
FROM (SELECT customer_id, max(ordered)::date AS last FROM orders GROUP BY customer_id) t GROUP BY 1 ORDER BY 1;

-- frequency
SELECT least(n, 10) AS orders, count(*) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) t GROUP BY 1 ORDER BY 1;

-- monetary quantiles
SELECT percentile_cont(ARRAY[0.2, 0.4, 0.6, 0.8]) WITHIN GROUP (ORDER BY spent) FROM (SELECT customer_id, sum(total) AS spent FROM orders GROUP BY customer_id) t;

-- segments by ntile
SELECT segment, count(*), avg(spent)
FROM (SELECT customer_id, sum(total) AS spent, ntile(5) OVER (ORDER BY sum(total)) AS segment FROM orders GROUP BY customer_id) t GROUP BY segment;

-- what the best tenth of customers spends
SELECT count(*), avg(spent) FROM (SELECT sum(total) AS spent, ntile(10) OVER (ORDER BY sum(total) DESC) AS decile FROM orders GROUP BY customer_id) t WHERE decile = 1;

-- recency, frequency and money by thirds
WITH rfm AS (SELECT customer_id, ntile(3) OVER (ORDER BY max(ordered)) AS r, ntile(3) OVER (ORDER BY count(*)) AS f, ntile(3) OVER (ORDER BY sum(total)) AS m
  FROM orders GROUP BY customer_id)
SELECT r, f, m, count(*) FROM rfm GROUP BY r, f, m ORDER BY r, f, m;

-- repeat purchase rate
SELECT count(*) FILTER (WHERE n > 1)::numeric / count(*) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) t;

-- cohorts by month of sign-up
SELECT date_trunc('month', c.signed_up) AS cohort, count(DISTINCT o.customer_id) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY 1 ORDER BY 1;

-- retention by cohort and month since first order
WITH first AS (SELECT customer_id, min(ordered) AS at FROM orders GROUP BY customer_id)
SELECT date_trunc('quarter', f.at) AS cohort, floor((o.ordered::date - f.at::date) / 30.0) AS months, count(DISTINCT o.customer_id)
FROM orders o JOIN first f ON f.customer_id = o.customer_id GROUP BY 1, 2;

-- second order within 60 days
SELECT count(*) FROM (
  SELECT customer_id, ordered, lead(ordered) OVER (PARTITION BY customer_id ORDER BY ordered) AS next FROM orders) t
WHERE next <= ordered + interval '60 days';

-- time to the second order
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY days) FROM (
  SELECT o.ordered::date - c.signed_up AS days, row_number() OVER (PARTITION BY o.customer_id ORDER BY o.ordered) AS n
  FROM orders o JOIN customers c ON c.id = o.customer_id) t
WHERE n = 2;

-- funnel
SELECT count(DISTINCT customer_id) FILTER (WHERE kind = 'view') AS viewed, count(DISTINCT customer_id) FILTER (WHERE kind = 'cart') AS carted,
  count(DISTINCT customer_id) FILTER (WHERE kind = 'buy') AS bought FROM events;

-- ordered funnel
SELECT count(DISTINCT v.customer_id) FROM events v JOIN events b ON b.customer_id = v.customer_id AND b.at > v.at WHERE v.kind = 'view' AND b.kind = 'buy';

-- viewed and never bought
SELECT count(DISTINCT v.customer_id) FROM events v LEFT JOIN orders o ON o.customer_id = v.customer_id WHERE o.id IS NULL;

-- sessions by gaps of half an hour
SELECT count(*) FROM (SELECT at - lag(at) OVER (PARTITION BY customer_id ORDER BY at) AS gap FROM events) t WHERE gap IS NULL OR gap > interval '30 minutes';

-- daily active customers
SELECT at::date AS day, count(DISTINCT customer_id) FROM events WHERE at >= '2022-06-01' AND at < '2022-07-01' GROUP BY 1 ORDER BY 1;

-- pages by pattern
SELECT count(*) FROM events WHERE page ~ '^/item/[0-9]+$';

-- sections of the site
SELECT split_part(page, '/', 2) AS section, count(*) FROM events GROUP BY section ORDER BY 2 DESC;

-- numbers within pages (refused without a statement)
SELECT substring(page FROM '[0-9]+') AS item, count(*) FROM events GROUP BY 1;

-- pages without digits (refused without a statement)
SELECT regexp_replace(page, '[0-9]+', '#') AS page, count(*) FROM events GROUP BY 1;

-- coupons used
SELECT coalesce(coupon, 'none') AS coupon, count(*), avg(total) FROM orders GROUP BY 1;

-- coupons by prefix
SELECT count(*) FROM orders WHERE coupon ILIKE 'spring%';

-- share of returns
SELECT avg((status = 'returned')::int) FROM orders;

-- orders by hour in local time
SELECT extract(hour FROM ordered AT TIME ZONE 'Europe/Berlin') AS hour, count(*) FROM orders GROUP BY 1 ORDER BY 1;

-- bought together
SELECT a.product_id, b.product_id, count(*) FROM items a JOIN items b ON a.order_id = b.order_id AND a.product_id < b.product_id GROUP BY 1, 2;

-- customers of two categories
SELECT count(*) FROM (
  SELECT o.customer_id FROM items i JOIN orders o ON o.id = i.order_id JOIN products p ON p.id = i.product_id WHERE p.category = 'toys'
  INTERSECT
  SELECT o.customer_id FROM items i JOIN orders o ON o.id = i.order_id JOIN products p ON p.id = i.product_id WHERE p.category = 'books') t;

-- countries in both years
SELECT country FROM customers JOIN orders ON orders.customer_id = customers.id WHERE ordered < '2023-01-01' GROUP BY country
INTERSECT
SELECT country FROM customers JOIN orders ON orders.customer_id = customers.id WHERE ordered >= '2023-01-01' GROUP BY country;

-- orders above the average of their country
SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id
WHERE o.total > (SELECT avg(o2.total) FROM orders o2 JOIN customers c2 ON c2.id = o2.customer_id WHERE c2.country = c.country);

-- revenue above the average of each tier
WITH mean AS (SELECT c.tier, avg(o.total) AS total FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.tier)
SELECT c.tier, sum(o.total - (SELECT m.total FROM mean m WHERE m.tier = c.tier)) FILTER (WHERE o.total > (SELECT m.total FROM mean m WHERE m.tier = c.tier))
FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.tier;

-- the top spenders (refused)
SELECT customer_id, sum(total) AS spent FROM orders GROUP BY customer_id ORDER BY spent DESC LIMIT 20;

-- share of revenue of the top tenth
SELECT sum(spent) FILTER (WHERE spent > (SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY s) FROM (SELECT sum(total) AS s FROM orders GROUP BY customer_id) x))
  / sum(spent) FROM (SELECT customer_id, sum(total) AS spent FROM orders GROUP BY customer_id) t;

-- revenue accumulated
SELECT day, sum(revenue) OVER (ORDER BY day) FROM (SELECT date_trunc('week', ordered) AS day, sum(total) AS revenue FROM orders GROUP BY 1) t;

-- a week from a recursive calendar
WITH RECURSIVE d(day) AS (SELECT date '2022-03-01' UNION ALL SELECT day + 1 FROM d WHERE day < date '2022-03-07')
SELECT d.day, count(o.id) FROM d LEFT JOIN orders o ON o.ordered::date = d.day GROUP BY d.day ORDER BY d.day;

-- a view for later (refused)
CREATE VIEW revenue AS SELECT country, sum(total) AS revenue FROM customers JOIN orders ON orders.customer_id = customers.id GROUP BY country;

-- where the time goes (refused)
EXPLAIN ANALYZE SELECT status, count(*) FROM orders GROUP BY status;

-- orders of customers who have beta features
SELECT count(*) FROM events e JOIN orders o ON o.customer_id = e.customer_id WHERE (e.data -> 'beta')::boolean;

-- what was sold of red products (refused without a statement)
SELECT sum(i.quantity) FROM items i JOIN products p ON p.id = i.product_id WHERE p.info ->> 'colour' = 'red';

-- what was sold by colour
SELECT p.colour, sum(i.quantity) FROM items i JOIN (SELECT id, info ->> 'colour' AS colour FROM products) p ON p.id = i.product_id GROUP BY p.colour;

-- customers whose device changed between two events
SELECT count(DISTINCT customer_id) FROM (
  SELECT customer_id, data ->> 'device' AS device, lag(data ->> 'device') OVER (PARTITION BY customer_id ORDER BY at) AS before FROM events
) e WHERE device <> before;

-- the last device of each customer
SELECT device, count(*) FROM (SELECT DISTINCT ON (customer_id) customer_id, data ->> 'device' AS device FROM events ORDER BY customer_id, at DESC) e
GROUP BY device;

-- customers with a cart of either kind
SELECT count(DISTINCT customer_id) FROM (
  SELECT customer_id, data FROM events WHERE kind = 'cart' UNION ALL SELECT customer_id, data FROM events WHERE kind = 'buy'
) e WHERE (data #>> '{cart,total}')::numeric > 50;

-- events by device where somebody logged in more than usually
SELECT e.data ->> 'device' AS device, count(*) FROM events e
WHERE EXISTS (SELECT 1 FROM events f WHERE f.customer_id = e.customer_id AND f.data ->> 'device' = e.data ->> 'device' AND (f.data ->> 'logins')::int > 20)
GROUP BY device;
