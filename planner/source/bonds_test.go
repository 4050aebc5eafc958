package source_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// A credulous parser takes all rows for ones that belong together.
type credulous struct{ *policy.Model }

func (credulous) Grouped(by []ast.Origin) ast.Bond {
	if len(by) == 0 {
		return ast.Apart
	}
	return ast.Named
}

func (credulous) Tied([][2]ast.Origin) bool { return true }

// believed reports whether the planner takes a statement whose queries are all of rows that belong together; known is false if it refuses
// the statement for any other reason than whose rows are.
func believed(t *testing.T, cat *policy.Model, sql string) (ok, known bool) {
	t.Helper()
	script, err := parser.Parse(sql, credulous{cat})
	if err != nil {
		t.Fatal(err)
	}
	st := script.Statements[0]
	if st.Class != parser.Release {
		t.Fatalf("%s: %v", sql, st.Refusal)
	}
	_, err = planner.Analyze(nil, cat, st, nil)
	var refused *pgerr.Error
	if err == nil || !errors.As(err, &refused) {
		return err == nil, err == nil
	}
	return false, refused.Code == pgerr.Ownership || refused.Code == pgerr.FeatureNotSupported
}

// TestBonds holds that the parser is told of groups, and of queries for each row, what the planner proves of them, if they are of tables
// alone. A group may have NULL in place of what names its rows, or of a column of a key, so that the planner is asked of rows that have a
// value as well.
func TestBonds(t *testing.T) {
	seen := map[string]int{}
	for what, cat := range map[string]*policy.Model{
		"shop": shop(t), "nobody": shopOf(t, shopSchema(), 4, policy.NobodyRows), "paid": paidShop(t, shopSchema()),
		"sent": sentShop(t, shopSchema()),
	} {
		names, tables := planner.Names(cat), protectedColumns(cat)
		for _, table := range tables {
			for i, a := range table {
				for _, b := range table[i:] {
					seen[groupedLaw(t, what, cat, names, []ast.Origin{a, b})]++
				}
			}
		}
		for _, table := range tables {
			for _, other := range tables {
				for _, a := range table {
					for _, b := range other {
						seen[tiedLaw(t, what, cat, names, a, b)]++
					}
				}
			}
		}
	}
	for _, of := range []string{"apart", "together", "named", "tied", "untied"} {
		if seen[of] < 20 {
			t.Errorf("%s: %d of %v", of, seen[of], seen)
		}
	}
}

// protectedColumns are the columns of protected tables that a statement can name.
func protectedColumns(cat *policy.Model) (tables [][]ast.Origin) {
	for _, n := range cat.Protected() {
		r, _ := cat.Relation(n.Schema, n.Name)
		var columns []ast.Origin
		for _, c := range r.Columns {
			columns = append(columns, ast.Origin{Schema: n.Schema, Table: n.Name, Column: c})
		}
		tables = append(tables, columns)
	}
	return tables
}

func groupedLaw(t *testing.T, what string, cat *policy.Model, names ast.Names, by []ast.Origin) string {
	t.Helper()
	bond := names.Grouped(by)
	grouped := func(where string) string {
		return fmt.Sprintf("SELECT count(*) FROM (SELECT 1 AS one FROM %s%s GROUP BY %s, %s) s",
			by[0].Table, where, by[0].Column, by[1].Column)
	}
	where := fmt.Sprintf(" WHERE %s IS NOT NULL AND %s IS NOT NULL", by[0].Column, by[1].Column)
	if ok, known := believed(t, cat, grouped("")); known && ok && bond == ast.Apart {
		t.Errorf("%s: the rows of groups by %v belong together, which is not said", what, by)
	}
	if ok, known := believed(t, cat, grouped(where)); known && !ok && bond != ast.Apart {
		t.Errorf("%s: the rows of groups by %v need not belong together", what, by)
	}
	return []string{"apart", "together", "named"}[bond]
}

func tiedLaw(t *testing.T, what string, cat *policy.Model, names ast.Names, a, b ast.Origin) string {
	t.Helper()
	tied := names.Tied([][2]ast.Origin{{b, a}})
	counted := func(where string) string {
		return fmt.Sprintf("SELECT count(*) FROM %s a WHERE (SELECT count(*) FROM %s b WHERE b.%s = a.%s%s) >= 0",
			a.Table, b.Table, b.Column, a.Column, where)
	}
	if ok, known := believed(t, cat, counted("")); known && ok && !tied {
		t.Errorf("%s: rows of %v are tied to those of %v, which is not said", what, b, a)
	}
	// Rows of one table that share a reference are joined, but not counted for each other: of those the planner refuses the statement.
	shared := what == "paid" && a == b
	if ok, known := believed(t, cat, counted(" AND b."+b.Column+" IS NOT NULL")); known && !ok && tied && !shared {
		t.Errorf("%s: rows of %v need not be tied to those of %v", what, b, a)
	}
	return map[bool]string{true: "tied", false: "untied"}[tied]
}

// TestBondsOfColumns says which columns name whose the rows are: the unit, also if a path ends with it and if it can be NULL, and no key. A
// key tells it, a step of a path, and a reference if it is never NULL.
func TestBondsOfColumns(t *testing.T) {
	const named = "cards.customer_id clicks.customer customers.id emails.customer_id logins.customer_id logins_2024.customer_id " +
		"orders.customer_id profiles.customer_id"
	for what, c := range map[string]struct {
		cat        *policy.Model
		named, key string
	}{
		"shop":   {shop(t), named, "defects.id defects.order_id items.order_id orders.id"},
		"nobody": {shopOf(t, shopSchema(), 4, policy.NobodyRows), named, "defects.id defects.order_id items.order_id orders.id"},
		"paid": {
			paidShop(t, shopSchema()), strings.Replace(named, "profiles", "payments.customer_id profiles", 1),
			"defects.id defects.order_id items.order_id orders.id payments.id payments.order_id " +
				"repairs.id repairs.order_id repairs.payment_id",
		},
	} {
		names, got := planner.Names(c.cat), map[ast.Bond][]string{}
		for _, table := range protectedColumns(c.cat) {
			for _, o := range table {
				bond := names.Grouped([]ast.Origin{o})
				got[bond] = append(got[bond], o.Table+"."+o.Column)
			}
		}
		for bond, want := range map[ast.Bond]string{ast.Named: c.named, ast.Together: c.key} {
			slices.Sort(got[bond])
			if list := strings.Join(got[bond], " "); list != want {
				t.Errorf("%s: %v: %s", what, bond, list)
			}
		}
	}
}

// TestBondsOfSeveralTables holds that columns of one table decide, whatever stands beside them, and in any order.
func TestBondsOfSeveralTables(t *testing.T) {
	names := planner.Names(shop(t))
	origin := func(table, column string) ast.Origin {
		return ast.Origin{Schema: "public", Table: table, Column: column}
	}
	order, line, day := origin("items", "order_id"), origin("items", "line"), origin("logins", "day")
	for _, c := range []struct {
		by   []ast.Origin
		want ast.Bond
	}{
		{nil, ast.Apart},
		{[]ast.Origin{line, day}, ast.Apart},
		{[]ast.Origin{day, order}, ast.Together},
		{[]ast.Origin{order, day}, ast.Together},
		{[]ast.Origin{day, line, origin("clicks", "customer")}, ast.Named},
		{[]ast.Origin{origin("parts", "id"), origin("nowhere", "id")}, ast.Apart},
		{[]ast.Origin{origin("customers", "region"), origin("parts", "id")}, ast.Apart},
	} {
		if got := names.Grouped(c.by); got != c.want {
			t.Errorf("%v: %v", c.by, got)
		}
	}
	both := [][2]ast.Origin{{day, line}, {origin("defects", "line"), line}, {origin("defects", "order_id"), order}}
	other := [][2]ast.Origin{
		{origin("customers", "region"), origin("orders", "status")}, {origin("parts", "id"), origin("orders", "customer_id")},
	}
	if !names.Tied(both) || names.Tied(both[:2]) || names.Tied(other) || names.Tied(nil) {
		t.Error("pairs of other tables change what pairs of two tables say")
	}
}

// TestBondsLast holds that no answer depends on how much was asked before.
func TestBondsLast(t *testing.T) {
	names := planner.Names(shop(t))
	key := ast.Origin{Schema: "public", Table: "items", Column: "order_id"}
	for i := range 300_000 {
		if names.Grouped([]ast.Origin{key}) != ast.Together {
			t.Fatalf("question %d has another answer", i)
		}
	}
	for i := range 2_500 {
		other := ast.Origin{Schema: "public", Table: "orders", Column: fmt.Sprint("x", i)}
		if names.Tied([][2]ast.Origin{{key, other}}) {
			t.Fatal(other)
		}
	}
	if !names.Tied([][2]ast.Origin{{key, key}}) {
		t.Error("a row of an order does not belong to the order")
	}
}
