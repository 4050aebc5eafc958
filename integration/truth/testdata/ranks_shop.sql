-- ranks: median of prices
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY l_extendedprice) AS median | NULL::float8 | NULL::float8} FROM lineitem;

-- ranks: 90th percentile of prices
SELECT {percentile_cont(0.9) WITHIN GROUP (ORDER BY l_extendedprice) AS p90 | NULL::float8 | NULL::float8} FROM lineitem;

-- ranks: 95th percentile of orders
SELECT {percentile_cont(0.95) WITHIN GROUP (ORDER BY o_totalprice) AS p95 | NULL::float8 | NULL::float8} FROM orders;

-- ranks: most frequent flag
SELECT {mode() WITHIN GROUP (ORDER BY CASE l_returnflag WHEN 'A' THEN 1 WHEN 'N' THEN 2 ELSE 3 END) AS flag | NULL::float8 | NULL::float8} FROM lineitem;

-- ranks: five most frequent brands
SELECT p_brand, {count(*) AS n} FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY p_brand ORDER BY n DESC LIMIT 5;
SELECT p_brand, {count(*) AS n} FROM lineitem JOIN part ON p_partkey = l_partkey GROUP BY p_brand;

-- ranks: mean price
SELECT {avg(l_extendedprice) AS mean} FROM lineitem;

-- ranks: sum of prices
SELECT {sum(l_extendedprice) AS total} FROM lineitem;
