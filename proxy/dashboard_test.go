package proxy_test

import (
	"regexp"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/proxy"
)

// tiles are twelve questions of a dashboard, each as Metabase, Superset, Grafana and Tableau write it.
var tiles = [12][4]string{
	{
		`SELECT COUNT(*) AS "count" FROM "public"."visits"`,
		`SELECT COUNT(*) AS "COUNT(*)" FROM public.visits ORDER BY "COUNT(*)" DESC LIMIT 50000`,
		`SELECT count(*) FROM visits`,
		`SELECT COUNT(1) AS "cnt:visits" FROM "public"."visits" "visits" HAVING (COUNT(1) > 0)`,
	},
	{
		`SELECT SUM("public"."visits"."cost") AS "sum" FROM "public"."visits"`,
		`SELECT sum(cost) AS "SUM(cost)" FROM public.visits LIMIT 50000`,
		`SELECT sum(cost) AS value FROM visits`,
		`SELECT SUM("visits"."cost") AS "sum:cost:ok" FROM "public"."visits" "visits" HAVING (COUNT(1) > 0)`,
	},
	{
		`SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count", SUM("public"."visits"."cost") AS "sum"
			FROM "public"."visits"
			GROUP BY "public"."visits"."diagnosis" ORDER BY "public"."visits"."diagnosis" ASC`,
		`SELECT diagnosis AS diagnosis, sum(cost) AS "SUM(cost)", COUNT(*) AS "COUNT(*)" FROM public.visits
			GROUP BY diagnosis ORDER BY "SUM(cost)" DESC LIMIT 100`,
		`SELECT diagnosis AS metric, count(*) AS value, sum(cost) FROM visits GROUP BY 1 ORDER BY 2`,
		`SELECT "visits"."diagnosis" AS "diagnosis", COUNT(1) AS "cnt", SUM("visits"."cost") AS "sum"
			FROM "public"."visits" "visits" GROUP BY 1`,
	},
	{
		`SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits"
			WHERE "public"."visits"."day" >= DATE '2023-01-01'
			AND "public"."visits"."day" < DATE '2024-01-01' GROUP BY "public"."visits"."diagnosis"`,
		`SELECT diagnosis AS diagnosis, COUNT(*) AS count FROM public.visits
			WHERE day >= TO_DATE('2023-01-01', 'YYYY-MM-DD') AND day < TO_DATE('2024-01-01', 'YYYY-MM-DD') GROUP BY diagnosis LIMIT 1000`,
		`SELECT diagnosis, count(*) FROM visits WHERE day BETWEEN '2023-01-01' AND '2023-12-31' GROUP BY 1`,
		`SELECT "visits"."diagnosis", COUNT(1) FROM "public"."visits" "visits"
			WHERE (("visits"."day" > (DATE '2022-12-31')) AND ("visits"."day" <= (DATE '2023-12-31'))) GROUP BY 1`,
	},
	{
		`SELECT AVG("public"."visits"."cost") AS "avg" FROM "public"."visits"`,
		`SELECT AVG(cost) AS "AVG(cost)" FROM public.visits LIMIT 50000`,
		`SELECT avg(cost) FROM visits`,
		`SELECT AVG("visits"."cost") AS "avg:cost:ok" FROM "public"."visits" "visits" HAVING (COUNT(1) > 0)`,
	},
	{
		`SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."cost" > 100`,
		`SELECT COUNT(*) AS count FROM public.visits WHERE cost > 100.0 LIMIT 50000`,
		`SELECT count(*) FROM visits WHERE NOT cost <= 100`,
		`SELECT COUNT(1) FROM "public"."visits" "visits" WHERE ((100.00 < "visits"."cost"))`,
	},
	{
		`SELECT "public"."patients"."sex" AS "sex", COUNT(*) AS "count" FROM "public"."patients" GROUP BY "public"."patients"."sex"`,
		`SELECT sex AS sex, COUNT(*) AS count FROM public.patients GROUP BY sex ORDER BY count DESC LIMIT 100`,
		`SELECT sex AS metric, count(*) AS value FROM patients GROUP BY sex`,
		`SELECT "patients"."sex" AS "sex", COUNT(1) AS "cnt" FROM "public"."patients" "patients" GROUP BY 1`,
	},
	{
		`SELECT COUNT(*) AS "count" FROM "public"."patients" WHERE "public"."patients"."birth_year" > 1970`,
		`SELECT COUNT(*) AS count FROM public.patients WHERE birth_year >= 1971 LIMIT 50000`,
		`SELECT count(*) FROM patients WHERE 1970 < birth_year`,
		`SELECT COUNT(1) FROM "public"."patients" "patients" WHERE (NOT ("patients"."birth_year" < 1971))`,
	},
	{
		`SELECT COUNT(*) AS "count" FROM "public"."patients" WHERE "public"."patients"."smoker" = TRUE`,
		`SELECT COUNT(*) AS count FROM public.patients WHERE smoker IS true LIMIT 50000`,
		`SELECT count(*) FROM patients WHERE smoker`,
		`SELECT COUNT(1) FROM "public"."patients" "patients" WHERE ("patients"."smoker" IN (TRUE))`,
	},
	{
		`SELECT COUNT(*) AS "count" FROM "public"."visits"
			WHERE ("public"."visits"."diagnosis" = 'flu' OR "public"."visits"."diagnosis" = 'asthma')
			AND "public"."visits"."day" >= DATE '2023-01-01'`,
		`SELECT COUNT(*) AS count FROM public.visits
			WHERE day >= TO_TIMESTAMP('2023-01-01', 'YYYY-MM-DD')::date AND diagnosis IN ('asthma', 'flu')`,
		`SELECT count(*) FROM visits WHERE diagnosis = ANY ('{flu,asthma}') AND day >= '2023-01-01'`,
		`SELECT COUNT(1) FROM "public"."visits" "visits"
			WHERE (("visits"."diagnosis" IN ('flu', 'asthma')) AND ("visits"."day" > (DATE '2022-12-31')))`,
	},
	{
		`SELECT SUM("public"."visits"."cost") AS "sum", COUNT(*) AS "count" FROM "public"."visits"
			WHERE "public"."visits"."day" >= DATE '2023-01-01'`,
		`SELECT COUNT(*) AS count, sum(cost) AS revenue FROM public.visits WHERE day >= '2023-01-01' LIMIT 50000`,
		`SELECT sum(cost), count(*) FROM visits WHERE day > '2022-12-31'`,
		`SELECT COUNT(1), SUM("visits"."cost") FROM "public"."visits" "visits" WHERE (NOT ("visits"."day" < (DATE '2023-01-01')))`,
	},
	{
		`SELECT SUM("public"."visits"."cost") AS "sum" FROM "public"."visits"
			JOIN "public"."patients" ON "public"."visits"."patient_id" = "public"."patients"."id"
			WHERE "public"."patients"."sex" = 'f' AND "public"."visits"."cost" > 10`,
		`SELECT sum(cost) AS s FROM public.visits AS v INNER JOIN public.patients AS p ON p.id = v.patient_id
			WHERE cost > 10 AND sex IN ('f') LIMIT 100`,
		`SELECT sum(v.cost) FROM visits v JOIN patients p ON p.id = v.patient_id AND p.sex = 'f' WHERE v.cost > 10`,
		`SELECT SUM("visits"."cost") FROM "public"."visits" "visits" INNER
			JOIN "public"."patients" "patients" ON ("visits"."patient_id" = "patients"."id")
			WHERE ((10 < "visits"."cost") AND ("patients"."sex" = 'f'))`,
	},
}

// named finds the tables that a tile names in FROM, and aliased what follows one that has an alias.
var (
	named   = regexp.MustCompile(`(FROM|JOIN) ((?:"?public"?\.)?"?(visits|patients)"?)`)
	aliased = regexp.MustCompile(`^ (AS )?"?(v|p|visits|patients)"?( |\n|$)`)
)

// wrapped is a tile whose tables are data sets of the tool: queries.
func wrapped(tile string) string {
	var b strings.Builder
	at := 0
	for _, m := range named.FindAllStringSubmatchIndex(tile, -1) {
		b.WriteString(tile[at:m[3]] + " (SELECT * FROM (SELECT * FROM " + tile[m[4]:m[5]] + ") AS raw ORDER BY 1)")
		if at = m[1]; !aliased.MatchString(tile[at:]) {
			b.WriteString(` AS "` + tile[m[6]:m[7]] + `"`)
		}
	}
	b.WriteString(tile[at:])
	return strings.NewReplacer(`"public"."visits"."`, `"visits"."`, `"public"."patients"."`, `"patients"."`).Replace(b.String())
}

// TestDashboards has four tools show one dashboard, of tables and of data sets that are queries: all of them together pay what the first
// one pays.
func TestDashboards(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.epsilon = 0.1", "dp.mechanism = gaussian")
	var paid [8]int64
	for i := range paid {
		for _, tile := range tiles {
			sql := tile[i%4]
			if i >= 4 {
				sql = wrapped(sql)
			}
			before := w.spent(t, "unit", "patient")
			must(t, ana.Conn, sql)
			cost := w.spent(t, "unit", "patient") - before
			if paid[i] += cost; i > 0 && cost > 0 {
				t.Errorf("%s\ncosts %d after\n%s", sql, cost, tile[0])
			}
		}
	}
	t.Logf("four tools, of tables and of queries, have paid %v, in 1e-12 of ρ; a tile costs %d at most", paid, int64(dp.PicoPerUnit/200))
}
