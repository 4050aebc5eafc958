-- Statements that compute something above released relations, which stand in braces. The comment has a name, the columns that tell
-- rows apart, and, behind "but", why fewer than 93 % of the intervals are expected to hold.

-- sum over all groups:
SELECT sum(c) AS v FROM {T} b;
-- sum over days by month: month
SELECT date_trunc('month', day)::date AS month, sum(c) AS v FROM {T} b GROUP BY 1 ORDER BY 1;
-- difference of two groups: k
SELECT k, max(c) FILTER (WHERE sex = 'f') - max(c) FILTER (WHERE sex = 'm') AS v FROM {X} b GROUP BY k;
-- ratio of sums over groups:
SELECT sum(s) / sum(c) AS v FROM {M} b;
-- ratio in each group: name
SELECT name, s / nullif(c, 0) AS v FROM {D} b;
-- share of the total: name
SELECT name, 100.0 * c / sum(c) OVER () AS v FROM {D} b;
-- growth: day
SELECT day, c * 1.0 / nullif(lag(c) OVER (ORDER BY day), 0) - 1 AS v FROM {M} b;
-- running total: day
SELECT day, sum(c) OVER (ORDER BY day) AS v FROM {M} b;
-- moving average: day
SELECT day, avg(c) OVER (ORDER BY day ROWS 6 PRECEDING) AS v FROM {T} b;
-- cumulative share in order of size: name
SELECT name, sum(c) OVER (ORDER BY c DESC) * 1.0 / sum(c) OVER () AS v FROM {D} b;
-- maximum, one group far ahead:
SELECT max(c) AS v FROM {D} b;
-- maximum of equal groups:
SELECT max(c) AS v FROM {W} b;
-- minimum of months:
SELECT min(c) AS v FROM {M} b;
-- range of days:
SELECT max(c) - min(c) AS v FROM {T} b;
-- top five: name
SELECT name, c AS v FROM {D} b ORDER BY c DESC LIMIT 5;
-- rank in the top ten: name
SELECT rank() OVER (ORDER BY c DESC) AS v, name FROM {D} b ORDER BY c DESC LIMIT 10;
-- rank: name
SELECT name, rank() OVER (ORDER BY c DESC) AS v FROM {D} b;
-- first of each partition: k
SELECT k, c + 0 AS v FROM (SELECT k, sex, c, row_number() OVER (PARTITION BY k ORDER BY c DESC) AS rn FROM {X} b) q WHERE rn = 1;
-- quartile by size: name
SELECT name, ntile(4) OVER (ORDER BY c) AS v FROM {D} b;
-- percent_rank: name
SELECT name, percent_rank() OVER (ORDER BY c) AS v FROM {D} b;
-- groups of more than a number: name
SELECT name, sum(c) AS v FROM {S} b GROUP BY name HAVING sum(c) > 15;
-- how many groups are above a number:
SELECT count(*) FILTER (WHERE c > 15) AS v FROM {S} b;
-- ratio of two releases: day
SELECT m.day, n.c * 1.0 / nullif(m.c, 0) AS v FROM {M} m JOIN {M2} n USING (day);
-- totals in one list: what
SELECT * FROM (SELECT 'months' AS what, sum(c) AS v FROM {M} b UNION ALL SELECT 'diagnoses', sum(c) FROM {D} b) u;
-- per cent of two sub-selects:
SELECT 100.0 * (SELECT c FROM {O} b) / nullif((SELECT sum(c) FROM {M} b), 0) AS v;
-- hundreds: name but the error is about the number before it was rounded
SELECT name, round(c, -2) AS v FROM {D} b;
-- not below zero, small groups: name
SELECT name, greatest(0, c) AS v FROM {S} b;
-- sum of these:
SELECT sum(greatest(0, c)) AS v FROM {S} b;
-- at most a number, small groups: name
SELECT name, least(c, 25) AS v FROM {S} b;
-- reciprocal, small groups: name
SELECT name, 1000.0 / nullif(c, 0) AS v FROM {S} b;
-- ROLLUP above: k, sex
SELECT k, sex, sum(c) AS v FROM {X} b GROUP BY ROLLUP (k, sex);
-- pivot with a ratio: k
SELECT k, sum(c) FILTER (WHERE sex = 'f') * 1.0 / nullif(sum(c) FILTER (WHERE sex = 'm'), 0) AS v FROM {X} b GROUP BY k;
-- months of a series: d
SELECT d::date AS d, coalesce(b.c, 0) + 0 AS v FROM generate_series(date '2024-01-01', '2024-12-01', interval '1 month') d
LEFT JOIN {M} b ON b.day = d AND b.k % 2 = 0;
-- compounded growth: k
WITH RECURSIVE x AS (SELECT k, c FROM {M} b), g(k, v) AS (SELECT 1, 1.0::float8 UNION ALL
SELECT g.k + 1, g.v * (SELECT c FROM x WHERE x.k = g.k + 1) / nullif((SELECT c FROM x WHERE x.k = g.k), 0) FROM g WHERE g.k < 12)
SELECT k, v FROM g;
-- average of averages: but small groups are hidden
SELECT avg(a) AS v FROM {D} b;
-- deviation between days:
SELECT stddev(c) AS v FROM {T} b;
-- deviation of equal groups:
SELECT stddev(c) AS v FROM {W} b;
-- root, small groups: name
SELECT name, sqrt(greatest(c, 0)) AS v FROM {S} b;
-- median of days:
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY c) AS v FROM {T} b;
-- index of weekdays: dow
SELECT k % 7 AS dow, avg(c) / (SELECT avg(c) FROM {T} z) AS v FROM {T} b GROUP BY 1;
-- correlation between groups: but it is near its end
SELECT corr(c, s) AS v FROM {X} b;
-- Herfindahl index:
SELECT sum(p * p) AS v FROM (SELECT c * 1.0 / sum(c) OVER () AS p FROM {D} b) q;
-- change from day to day, without sign: day but noise pushes it one way
SELECT day, abs(c - lag(c) OVER (ORDER BY day)) AS v FROM {T} b;
-- mean of that: but noise pushes it one way
SELECT avg(abs(d)) AS v FROM (SELECT c - lag(c) OVER (ORDER BY day) AS d FROM {T} b) q;
-- slope of logarithms:
SELECT regr_slope(ln(greatest(c, 1)), k) AS v FROM {M} b;
-- little noise, the number: name
/* dp: epsilon=1.43 */ SELECT name, c + 0 AS v FROM {S1} b;
-- little noise, the sum:
/* dp: epsilon=1.43 */ SELECT sum(c) AS v FROM {S1} b;
-- little noise, ratio to the next: name
/* dp: epsilon=1.43 */ SELECT name, c * 1.0 / nullif(lead(c) OVER (ORDER BY name), 0) AS v FROM {S1} b;
-- averages times counts: but small groups are hidden
SELECT sum(a * c) AS v FROM {D} b;
-- groups of more than a larger number: name
SELECT name, sum(c) AS v FROM {D} b GROUP BY name HAVING sum(c) > 250;
-- fifth of equal groups: but noise pushes it one way
SELECT c + 0 AS v FROM {W} b ORDER BY c DESC OFFSET 4 LIMIT 1;
-- top five of days: day but noise chooses near-equal days
SELECT day, c + 0 AS v FROM {T} b ORDER BY c DESC LIMIT 5;
-- sum of the top ten days: but noise pushes it one way
SELECT sum(c) AS v FROM (SELECT c FROM {T} b ORDER BY c DESC LIMIT 10) q;
-- z score: day
SELECT day, (c - avg(c) OVER ()) / stddev(c) OVER () AS v FROM {T} b;
-- product of two cells: name
SELECT name, c * s AS v FROM {S} b;
-- top three and the rest: who
WITH x AS (SELECT name, c, row_number() OVER (ORDER BY c DESC) AS rn FROM {D} b)
SELECT CASE WHEN rn <= 3 THEN name ELSE 'other' END AS who, sum(c) AS v FROM x GROUP BY 1;

-- half of the total and more:
SELECT sum(c) / 2 AS v FROM {O} b;
-- difference to the mean: name
SELECT name, c - avg(c) OVER () AS v FROM {D} b;
-- weighted mean of groups:
SELECT sum(s) / nullif(sum(c), 0) AS v FROM {D} b;
-- share of each sex by k: k, sex
SELECT k, sex, c / sum(c) OVER (PARTITION BY k) AS v FROM {X} b;
-- odds ratio: k
SELECT k, (max(c) FILTER (WHERE sex = 'f') * 1.0 / nullif(min(c) FILTER (WHERE sex = 'm'), 0)) ^ 2 AS v FROM {X} b GROUP BY k;
-- sums by weekday: dow
SELECT extract(isodow FROM day) AS dow, sum(c) AS v FROM {T} b GROUP BY 1 ORDER BY 1;
-- first half against the second:
SELECT sum(c) FILTER (WHERE k <= 6) * 1.0 / sum(c) FILTER (WHERE k > 6) AS v FROM {M} b;
-- year to date as a share: day
SELECT day, 100.0 * sum(c) OVER (ORDER BY day) / sum(c) OVER () AS v FROM {M} b;
-- difference of two releases: day
SELECT day, m.c - n.c AS v FROM {M} m JOIN {M2} n USING (day);
-- the same release twice: day
SELECT day, m.c - n.c AS v FROM {M} m JOIN {M} n USING (day);
-- cost of all by sum of the groups:
SELECT sum(s) * 1.19 AS v FROM {M} b;
-- geometric mean:
SELECT exp(avg(ln(greatest(c, 1)))) AS v FROM {M} b;
-- three months together: day
SELECT day, sum(c) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS v FROM {M} b;
-- entropy:
SELECT -sum(p * ln(p)) AS v FROM (SELECT greatest(c, 1) * 1.0 / sum(greatest(c, 1)) OVER () AS p FROM {D} b) q;
-- trend by regression:
SELECT regr_slope(c, k) AS v FROM {T} b;
-- intercept:
SELECT regr_intercept(c, k) AS v FROM {M} b;
-- per thousand by a public number: name
SELECT name, 1000.0 * c / 7000 + 1 AS v FROM {D} b;
-- change over two months in per cent: day
SELECT day, 100.0 * (c - lag(c, 2) OVER (ORDER BY day)) / nullif(lag(c, 2) OVER (ORDER BY day), 0) AS v FROM {M} b;
-- mean of the middle groups:
SELECT avg(c) AS v FROM (SELECT c, ntile(3) OVER (ORDER BY name) AS third FROM {D} b) q WHERE third = 2;
-- days above the public target:
SELECT sum(CASE WHEN c > 150 THEN 1 ELSE 0 END) AS v FROM {T} b;
-- totals of pairs of groups: pair
SELECT ascii(name) / 2 AS pair, sum(c) AS v FROM {D} b GROUP BY 1;

-- visits cut by limits, all:
SELECT sum(c) AS v FROM {V} b;
-- visits cut by limits, product with a number: k
SELECT k, c * 1.5 + 1 AS v FROM {V} b;
-- visits cut by limits, share: k
SELECT k, 100.0 * c / sum(c) OVER () AS v FROM {V} b;
-- visits cut by limits, mean of sums: k
SELECT k, s * 1.0 / nullif(c, 0) AS v FROM {V} b;
-- visits cut by limits, growth: k
SELECT k, c * 1.0 / nullif(lag(c) OVER (ORDER BY k), 0) - 1 AS v FROM {V} b;
-- visits cut by limits, running total: k
SELECT k, sum(s) OVER (ORDER BY k) AS v FROM {V} b;
-- visits cut by limits, maximum:
SELECT max(c) AS v FROM {V} b;
-- visits cut by limits, range:
SELECT max(c) - min(c) AS v FROM {V} b;
-- visits cut by limits, halves:
SELECT sum(c) FILTER (WHERE k <= 6) * 1.0 / sum(c) FILTER (WHERE k > 6) AS v FROM {V} b;
-- visits cut by limits, moving average: k
SELECT k, avg(s) OVER (ORDER BY k ROWS 2 PRECEDING) AS v FROM {V} b;

-- small groups above zero:
SELECT count(*) FILTER (WHERE c > 0) AS v FROM {S} b;
-- small groups above zero, much noise:
/* dp: epsilon=0.02 */ SELECT count(*) FILTER (WHERE c > 0) AS v FROM {S} b;
-- small groups above zero, little noise:
/* dp: epsilon=1.43 */ SELECT count(*) FILTER (WHERE c > 0) AS v FROM {S} b;
-- sum of the small groups above a number:
SELECT sum(c) FILTER (WHERE c > 15) AS v FROM {S} b;
-- sum of the groups above a number:
SELECT sum(c) AS v FROM {D} b WHERE c > 100;
-- mean of the small groups above a number:
SELECT avg(c) AS v FROM {S} b WHERE c > 10;
-- number of groups behind HAVING:
SELECT count(*) AS v FROM (SELECT name FROM {S} b GROUP BY name HAVING sum(c) > 5) q;
-- share of the days above a number:
SELECT avg(CASE WHEN c >= 160 THEN 1.0 ELSE 0 END) AS v FROM {T} b;
-- equal groups above their size:
SELECT count(*) FILTER (WHERE c >= 100) AS v FROM {W} b;
-- equal groups below a smaller number:
SELECT count(*) FILTER (WHERE c < 90) AS v FROM {W} b;
-- days below their mean:
SELECT count(*) AS v FROM {T} b WHERE c < (SELECT avg(c) FROM {T} z);
-- groups of two sizes by sex: sex
SELECT sex, count(*) FILTER (WHERE c > 350) AS v FROM {X} b GROUP BY sex;
-- part of the largest:
SELECT 100.0 * max(c) / sum(c) AS v FROM {D} b;
-- part of the largest of near-equal days: but seldom stated, and then noise pushes it one way
SELECT 100.0 * max(c) / sum(c) AS v FROM {T} b;
-- largest and smallest of near-equal days:
SELECT max(c) * 1.0 / min(c) AS v FROM {T} b;
-- largest and smallest of months:
SELECT max(c) * 1.0 / min(c) AS v FROM {M} b;
-- distance from the largest in parts: name
SELECT name, 1 - c * 1.0 / max(c) OVER () AS v FROM {D} b;
-- part of the larger in each: k
SELECT k, max(c) * 1.0 / sum(c) AS v FROM {X} b GROUP BY k;
-- mean of the larger in each:
SELECT avg(v) AS v FROM (SELECT k / 2, max(c) AS v FROM {X} b GROUP BY 1) q;
-- visits cut by limits, months above a number:
SELECT count(*) FILTER (WHERE c > 1600) AS v FROM {V} b;
