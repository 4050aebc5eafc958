package source_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// The shop has customers with one row each; orders, of which items are lines; profiles, at
// most one for each customer. The key of emails proves nothing, since it is nullable; that of logins is one of a
// partitioned table. Defects and clicks hang on keys of two columns, clicks on that of the
// partitioned table. Cards had a partial index, which
// is no key. Parts and makers are public, and so are rates, without a key, and old_parts,
// whose key does not hold for its inheritance child.
func shopSchema() *catalog.Schema {
	key := func(cols ...string) catalog.Key { return catalog.Key{Name: strings.Join(cols, "_"), Columns: cols} }
	tables := []*catalog.Table{
		{Name: name("customers"), Kind: 'r', Keys: []catalog.Key{key("id"), key("email")}, Columns: []catalog.Column{
			column("id", int4, true), column("email", text, false), column("name", text, true), column("region", varchar10, true),
			column("vip", boolean, false), column("joined", date, true),
		}},
		{Name: name("orders"), Kind: 'r', Keys: []catalog.Key{key("id")}, Columns: []catalog.Column{
			column("id", int4, true), column("customer_id", int4, false), column("day", date, true), column("total", numeric10, true),
			column("status", text, true), column("note", jsonb, false), column("labels", texts, false), column("marks", numerics, false),
		}},
		{Name: name("items"), Kind: 'r', Keys: []catalog.Key{key("order_id", "line")}, Columns: []catalog.Column{
			column("order_id", int4, true), column("line", int4, true), column("part_id", int4, true), column("qty", int4, true),
			column("u", text, false),
		}},
		{Name: name("profiles"), Kind: 'r', Keys: []catalog.Key{key("customer_id")}, Columns: []catalog.Column{
			column("customer_id", bigint, true), column("score", float8, false), column("level", int4, true),
		}},
		{Name: name("emails"), Kind: 'r', Keys: []catalog.Key{key("customer_id")}, Columns: []catalog.Column{
			column("customer_id", int4, false), column("address", text, true),
		}},
		{Name: name("cards"), Kind: 'r', Columns: []catalog.Column{column("customer_id", int4, true), column("kind", text, true)}},
		{
			Name: name("logins"), Kind: 'p', Keys: []catalog.Key{key("customer_id", "day")}, Children: []catalog.Name{name("logins_2024")},
			Columns: []catalog.Column{column("customer_id", int4, true), column("day", date, true)},
		},
		{
			Name: name("logins_2024"), Kind: 'r', Keys: []catalog.Key{key("customer_id", "day")}, Parents: []catalog.Name{name("logins")},
			Columns: []catalog.Column{column("customer_id", int4, true), column("day", date, true)},
		},
		{Name: name("defects"), Kind: 'r', Keys: []catalog.Key{key("id")}, Columns: []catalog.Column{
			column("id", int4, true), column("line", int4, false), column("order_id", int4, true), column("severity", int4, true),
		}, Foreign: []catalog.ForeignKey{{
			Name: "of_item", Columns: []string{"line", "order_id"}, References: name("items"), Target: []string{"line", "order_id"},
		}}},
		{Name: name("clicks"), Kind: 'r', Columns: []catalog.Column{
			column("customer", int4, true), column("day", date, true), column("target", text, true),
		}, Foreign: []catalog.ForeignKey{{
			Name: "of_login", Columns: []string{"customer", "day"}, References: name("logins"), Target: []string{"customer_id", "day"},
		}}},
		{Name: name("parts"), Kind: 'r', Keys: []catalog.Key{key("id")}, Columns: []catalog.Column{
			column("id", int4, true), column("kind", text, true), column("maker_id", int4, false), column("price", numeric10, true),
		}},
		{Name: name("makers"), Kind: 'r', Keys: []catalog.Key{key("id")}, Columns: []catalog.Column{
			column("id", int4, true), column("country", text, true), column("secret", text, true),
		}},
		{Name: name("rates"), Kind: 'r', Columns: []catalog.Column{column("day", date, true), column("rate", numeric, true)}},
		{
			Name: name("old_parts"), Kind: 'r', Keys: []catalog.Key{key("id")}, Children: []catalog.Name{name("older_parts")},
			Columns: []catalog.Column{column("id", int4, true), column("kind", text, true)},
		},
	}
	s := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, t := range tables {
		s.Tables[t.Name] = t
	}
	return s
}

func shop(t testing.TB) *policy.Model {
	t.Helper()
	s := shopSchema()
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000, name("makers"): 50, name("rates"): 1000}
	s.PublicRepeats = map[catalog.Name]map[string]int64{name("parts"): {"kind": 700, "price": 3}}
	return shopOf(t, s, 4)
}

// shopOf is the shop with this catalogue; a join takes joinRows rows of a unit. Orders without a customer are left out, or count.
func shopOf(t testing.TB, s *catalog.Schema, joinRows int64, orders ...policy.Nobody) *policy.Model {
	t.Helper()
	return checkedShop(t, shopPolicy(joinRows, orders...), s)
}

func checkedShop(t testing.TB, p policy.Policy, s *catalog.Schema) *policy.Model {
	t.Helper()
	c, problems := policy.Check(p, s)
	for _, p := range problems {
		t.Errorf("%v", p)
	}
	if c == nil {
		t.FailNow()
	}
	return c
}

func shopPolicy(joinRows int64, orders ...policy.Nobody) policy.Policy {
	hidden := policy.ColumnPolicy{Hidden: true}
	return policy.Policy{Unit: "customer", JoinRows: joinRows, Tables: []policy.TablePolicy{
		{Name: name("customers"), UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{"name": hidden}},
		{
			Name: name("orders"), UnitColumn: "customer_id", MaxRows: 10, MaxPartitions: 3, Nobody: append(orders, "")[0],
			Columns: map[string]policy.ColumnPolicy{"total": bounds("0", "5000")},
		},
		{
			Name: name("items"), Via: "order_id", To: policy.ColumnName{Table: name("orders"), Column: "id"}, MaxRows: 30,
			Columns: map[string]policy.ColumnPolicy{"qty": bounds("0", "100")},
		},
		{Name: name("profiles"), UnitColumn: "customer_id", Columns: map[string]policy.ColumnPolicy{"score": bounds("0", "1")}},
		{Name: name("emails"), UnitColumn: "customer_id", MaxRows: 3},
		{Name: name("cards"), UnitColumn: "customer_id"},
		{Name: name("logins"), UnitColumn: "customer_id", MaxRows: 50},
		{Name: name("logins_2024"), UnitColumn: "customer_id", MaxRows: 50},
		{Name: name("defects"), ViaKey: []string{"order_id", "line"}, To: policy.ColumnName{Table: name("items")}, MaxRows: 5},
		{Name: name("clicks"), ViaKey: []string{"customer", "day"}, To: policy.ColumnName{Table: name("logins")}, MaxRows: 7},
		{Name: name("parts"), Public: true},
		{Name: name("makers"), Public: true, Columns: map[string]policy.ColumnPolicy{"secret": hidden}},
		{Name: name("rates"), Public: true},
		{Name: name("old_parts"), Public: true},
	}}
}

// TestSources draws what is proved of FROM and WHERE of a block, or the refusal. Commands:
//
//	source [fanout=100] [work=1000000]
//
// parts have 2000 rows, makers 50, rates 1000; the size of old_parts is not known.
func TestSources(t *testing.T) { drawSources(t, shop(t), "testdata/source") }

// TestSourcesOfNobody draws likewise where orders without a customer count.
func TestSourcesOfNobody(t *testing.T) {
	s := shopSchema()
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000}
	drawSources(t, shopOf(t, s, 4, policy.NobodyRows), "testdata/nobody")
}

func drawSources(t *testing.T, cat *policy.Model, folder string) {
	t.Helper()
	datadriven.Walk(t, folder, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := drawSource(t, cat, d)
			if refused := strings.Contains(path, "refused"); refused != (err != nil) {
				t.Errorf("%s: in %s, but: %v\n%s", d.Pos, path, err, out)
			}
			if err != nil {
				return refusal(d.Input, err) + "\n"
			}
			return out
		})
	})
}

func drawSource(t *testing.T, cat *policy.Model, d *datadriven.TestData) (string, error) {
	t.Helper()
	limits := policy.Limits{PublicFanout: 100, Work: 1_000_000, PublicRows: cat.PublicRows()}
	for _, a := range d.CmdArgs {
		n, err := strconv.ParseInt(a.Vals[0], 10, 64)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if a.Key == "work" {
			limits.Work = n
		} else {
			limits.PublicFanout = n
		}
	}
	script, err := parser.Parse(d.Input, planner.Names(cat))
	if err != nil {
		return "", err
	}
	st := script.Statements[0]
	if st.Refusal != nil {
		return "", st.Refusal
	}
	if len(st.Blocks) == 0 {
		d.Fatalf(t, "no block")
	}
	if st.Blocks[0].Err != nil {
		return "", st.Blocks[0].Err
	}
	return source.Draw(cat, st.Blocks[0], limits, literals)
}

// literals stands in for the mirror.
func literals(folds []scalar.Fold) []scalar.Value {
	out := make([]scalar.Value, len(folds))
	for i, f := range folds {
		out[i] = scalar.Value{OID: f.Type.OID, Bytes: []byte(literal(f.SQL))}
	}
	return out
}

// A query below another one must not double the work of what is above it, nor its text.
func TestSourceDepth(t *testing.T) {
	cat := shop(t)
	from, in := "orders", "c.id IN (SELECT customer_id FROM emails)"
	for i := range 40 {
		from = "(SELECT * FROM " + from + ") d" + strconv.Itoa(i)
	}
	s, err := readUnevaluated(t, cat, "SELECT count(day) FROM "+from)
	if err != nil || len(s.From) > 20_000 {
		t.Errorf("40 levels: %v", err)
	}
	for range 6 {
		in = "c.id IN (SELECT c.id FROM customers c WHERE c.vip OR " + in + ")"
	}
	if s, err := readUnevaluated(t, cat, "SELECT count(*) FROM customers c WHERE "+in); err != nil || len(s.Where) > 20_000 {
		t.Errorf("6 sub-selects: %v", err)
	}
}

func TestSourceRelations(t *testing.T) {
	cat := shop(t)
	join := func(n int) string {
		sql := "SELECT count(*) FROM customers c"
		for i := range n - 1 {
			sql += " JOIN customers c" + strconv.Itoa(i) + " ON c" + strconv.Itoa(i) + ".id = c.id"
		}
		return sql
	}
	if _, err := readUnevaluated(t, cat, join(64)); err != nil {
		t.Error(err)
	}
	_, err := readUnevaluated(t, cat, join(65))
	if e, ok := errors.AsType[*pgerr.Error](err); !ok || e.Code != pgerr.ProgramLimitExceeded {
		t.Errorf("65 relations: %v", err)
	}
}

func readUnevaluated(t *testing.T, cat *policy.Model, sql string) (*source.ReadSource, error) {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	b := script.Statements[0].Blocks[0]
	if b.Err != nil {
		t.Fatal(b.Err)
	}
	return source.ReadBlock(cat, b, literals)
}

// An expression that is resolved when the source is complete would be missing from the order in
// which rows are kept.
func TestSourceIsComplete(t *testing.T) {
	cat := shop(t)
	const sql = "SELECT count(day), count(CASE WHEN id IN (SELECT order_id FROM items) THEN 1 END) FROM orders"
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	b := script.Statements[0].Blocks[0]
	rows, err := source.Resolve(&source.Statement{Model: cat, Constants: &scalar.Constants{}}, b)
	if err != nil {
		t.Fatal(err)
	}
	late := rows.Resolver()
	for _, a := range b.Aggregates {
		if _, err := late.Expr(a.Args[0]); err != nil {
			t.Errorf("before the source: %v", err)
		}
	}
	rows.Source()
	for _, a := range b.Aggregates {
		if x, err := late.Expr(a.Args[0]); err == nil {
			t.Errorf("after the source: %v", x)
		}
	}
}
