package planner_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

const sales = `DROP TABLE IF EXISTS sales, stores, items, calendar;
CREATE TABLE stores (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE items (code text PRIMARY KEY, class int NOT NULL);
CREATE TABLE calendar (d date PRIMARY KEY, week int NOT NULL);
CREATE TABLE sales (patient_id int NOT NULL, store int, item varchar(10) NOT NULL, day date NOT NULL, other int NOT NULL);
INSERT INTO stores SELECT g * 7, 'n' || g % 5 FROM generate_series(1, 12) g UNION ALL SELECT 3000000000, 'far';
INSERT INTO items SELECT 'i' || g, g % 3 FROM generate_series(1, 30) g;
INSERT INTO calendar SELECT date '2022-01-01' + g, g / 7 FROM generate_series(0, 1095) g;
INSERT INTO sales SELECT g % 300, CASE WHEN g % 9 > 0 THEN (g % 12 + 1) * 7 END, 'i' || g % 30 + 1, date '2022-01-01' + g % 1096, g % 40
  FROM generate_series(1, 3000) g`

// market has sales, whose foreign keys refer to public tables; one is not validated.
func market(t *testing.T, conn *pgconn.PgConn) *policy.Model {
	t.Helper()
	column := plannertest.Column
	s, p := clinicSchema(), clinicPolicy()
	refers := func(column, table, key string) catalog.ForeignKey {
		return catalog.ForeignKey{Name: column, Columns: []string{column}, References: name(table), Target: []string{key}}
	}
	s.Tables[name("sales")] = &catalog.Table{Name: name("sales"), Kind: 'r', Columns: []catalog.Column{
		column("patient_id", plannertest.Int4, true), column("store", plannertest.Int4, false), column("item", plannertest.Varchar10, true),
		column("day", plannertest.Date, true), column("other", plannertest.Int4, true),
	}, Foreign: []catalog.ForeignKey{
		refers("store", "stores", "id"), refers("item", "items", "code"), refers("day", "calendar", "d"),
	}, Loose: []catalog.ForeignKey{refers("other", "stores", "id")}}
	public := func(table, key string, typ catalog.TypeRef, rows int64, more catalog.Column) {
		s.Tables[name(table)] = &catalog.Table{
			Name: name(table), Kind: 'r', Columns: []catalog.Column{column(key, typ, true), more},
			Keys: []catalog.Key{{Name: "pkey", Columns: []string{key}, Primary: true}},
		}
		s.PublicRows[name(table)] = rows
		p.Tables = append(p.Tables, policy.TablePolicy{Name: name(table), Public: true})
	}
	public("stores", "id", plannertest.Bigint, 13, column("name", plannertest.Text, true))
	public("items", "code", plannertest.Text, 30, column("class", plannertest.Int4, true))
	public("calendar", "d", plannertest.Date, 1096, column("week", plannertest.Int4, true))
	p.Tables = append(p.Tables, policy.TablePolicy{Name: name("sales"), UnitColumn: "patient_id", MaxRows: 20})
	for _, c := range slices.Compact([]*pgconn.PgConn{conn, mirrorOf(t, conn)}) {
		runSQL(t, c, sales)
		t.Cleanup(func() { _ = c.Exec(context.Background(), "DROP TABLE sales, stores, items, calendar").Close() })
	}
	return checkedBy(t, p, s)
}

// TestPublicKeys counts the groups of columns that refer to public tables: they are those that Postgres finds with each public row.
func TestPublicKeys(t *testing.T) {
	conn := connect(t)
	cat := market(t, conn)
	for _, c := range []struct {
		keys, from, where string
		groups            int
	}{
		{"store", "sales", "", 13},
		{"store", "sales", "store IS NOT NULL", 12},
		{"store", "sales", "store IN (7, 14, 15)", 2},
		{"item", "sales", "", 30},
		{"store, item", "sales", "", 390},
		{"left(item, 2), length(item)", "sales", "", 12},
		{"coalesce(store, 0)", "sales", "", 13},
		{"store % 10", "sales", "", 11},
		{"CASE WHEN store < 30 THEN 'low' WHEN store < 60 THEN 'mid' ELSE 'high' END", "sales", "", 3},
		{"day", "sales", "", 1096},
		{"extract(year FROM day)", "sales", "", 3},
		{"extract(year FROM day), extract(month FROM day)", "sales", "day >= '2023-06-01'", 19},
		{"date_trunc('month', day)::date", "sales", "", 36},
		{"x.store", "(SELECT patient_id, store FROM sales WHERE store > 20) x", "", 10},
		{"s.store", "sales s LEFT JOIN stores o ON o.id = s.store", "", 13},
		{"s.store", "sales s JOIN stores o ON o.id = s.store", "o.name = 'n1'", 3},
		{"store", "sales", "store IN (SELECT id FROM stores WHERE name = 'n1')", 3},
		{"store, item", "sales s", "EXISTS (SELECT FROM stores o WHERE o.id = s.store AND o.name = 'n1') AND item <= 'i3'", 69},
		{"store % 10", "sales", "store IN (SELECT id FROM stores WHERE name = 'n1')", 2},
		{"store IN (SELECT id FROM stores WHERE name = 'n1')", "sales", "", 0},
		{"day", "sales", "day IN (SELECT d FROM calendar WHERE week = 3)", 7},
		{"extract(year FROM day)", "sales", "day IN (SELECT d FROM calendar WHERE week = 60)", 1},
		{"other", "sales", "", 0},
		{"store, other", "sales", "", 0},
	} {
		checkListed(t, cat, conn, c.keys, c.from, c.where, "", c.groups)
	}
}

// TestCopied names the public tables whose copies can decide the groups of an answer. Where the keys of the mirror bound a column, the read
// looks for others first, in each case, and locks the public table.
func TestCopied(t *testing.T) {
	conn := connect(t)
	cat := market(t, conn)
	const joined = "SELECT o.name, count(*) FROM sales s JOIN stores o ON o.id = s.store "
	for sql, tables := range map[string]string{
		"SELECT store, count(*) FROM sales GROUP BY 1":                                           "public.stores",
		"SELECT CASE WHEN store < 30 THEN 'low' ELSE 'high' END, count(*) FROM sales GROUP BY 1": "public.stores",
		"SELECT x.store, count(*) FROM (SELECT patient_id, store FROM sales) x GROUP BY 1":       "public.stores",
		"SELECT mode() WITHIN GROUP (ORDER BY store) FROM sales":                                 "public.stores",
		"SELECT other, count(*) FROM sales GROUP BY 1":                                           "",
		"SELECT count(*) FROM sales WHERE store > 80":                                            "",
		joined + "GROUP BY 1": "public.stores",
		joined + "WHERE s.item IN (SELECT code FROM items WHERE class = 1) GROUP BY 1":                    "public.items public.stores",
		joined + "WHERE o.name = 'nowhere' GROUP BY 1":                                                    "public.stores",
		"SELECT day, count(*) FROM sales WHERE day IN (SELECT d FROM calendar WHERE week = 3) GROUP BY 1": "public.calendar",
	} {
		var names []string
		for _, n := range planner.Copied(planWith(t, conn, cat, sql, showSmallGroups).Plan) {
			names = append(names, n.String())
		}
		if slices.Sort(names); strings.Join(names, " ") != tables {
			t.Errorf("%s: %v, want %s", sql, names, tables)
		}
	}
	for sql, counts := range map[string]int{
		"SELECT store % 10, count(*) FROM sales GROUP BY 1": 1, "SELECT count(*) FROM sales WHERE store + 0 > 80": 1,
		"SELECT extract(year FROM day), count(*) FROM sales GROUP BY 1": 1, "SELECT sum(store) FROM sales WHERE abs(store) > 10": 1,
		"SELECT count(*) FROM sales WHERE store + 0 > 8000": 1, "SELECT sum(day - date '2022-01-01' + store) FROM sales": 2,
		"SELECT count(*) FROM sales WHERE store > 80": 0,
	} {
		p := planWith(t, conn, cat, sql, showSmallGroups)
		if len(p.Counts) != counts || slices.Contains(p.Relations, name("stores")) != (counts > 0 && strings.Contains(sql, "store")) {
			t.Errorf("%s: counts %v of %v", sql, p.Counts, p.Relations)
		}
	}
	if err := specializeDefault(t, cat, "SELECT sum(other) FROM sales"); err == nil || !strings.Contains(err.Error(), "has no bounds") {
		t.Error(err)
	}
}
