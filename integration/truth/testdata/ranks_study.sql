-- ranks: median of HDL
SELECT {percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median | NULL::float8 | NULL::float8} FROM labs WHERE test = 'hdl';

-- ranks: 90th percentile of HDL
SELECT {percentile_cont(0.9) WITHIN GROUP (ORDER BY value) AS p90 | NULL::float8 | NULL::float8} FROM labs WHERE test = 'hdl';

-- ranks: 95th percentile of body-mass indices
SELECT {percentile_cont(0.95) WITHIN GROUP (ORDER BY bmi) AS p95 | NULL::float8 | NULL::float8} FROM people;

-- ranks: most frequent age
SELECT {mode() WITHIN GROUP (ORDER BY age / 5 * 5) AS age | NULL::float8 | NULL::float8} FROM people;

-- ranks: five most frequent events
SELECT event, {count(*) AS n} FROM events GROUP BY event ORDER BY n DESC LIMIT 5;
SELECT event, {count(*) AS n} FROM events GROUP BY event;

-- ranks: mean HDL
SELECT {avg(value) AS mean} FROM labs WHERE test = 'hdl';

-- ranks: sum of HDL
SELECT {sum(value) AS total} FROM labs WHERE test = 'hdl';
