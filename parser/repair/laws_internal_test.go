package repair

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/internal/sqlgen"
	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// anything is a schema in which every name is a protected table with the columns that random statements name.
type anything struct{}

// Table implements Schema.
func (anything) Table(_, name string) (Table, bool) {
	return Table{
		Columns: strings.Fields("id unit_id shard event_id day kind amount note"), Protected: name != "places" && name != "sites",
		Unit: "unit_id", Keys: []string{"id"}, Parents: map[string]Key{"site_id": {"public", "sites", "id"}},
	}, true
}

// Suggested implements Schema.
func (anything) Suggested(_, _, column string) (string, bool) { return "integer", len(column)%2 == 0 }

// scattered writes a statement with comments and line ends between its tokens.
func scattered(r *rand.Rand, sql string) string {
	toks, _, err := lex.Scan(sql)
	if err != nil {
		return sql
	}
	var b strings.Builder
	at := 0
	for _, k := range toks {
		if gap := sql[at:k.Start]; gap != "" && r.IntN(4) == 0 {
			b.WriteString([]string{"\n\t", " /* ; SELECT ( */ ", " -- it's\n", "/**/"}[r.IntN(4)])
		} else {
			b.WriteString(gap)
		}
		b.WriteString(sql[k.Start:k.End])
		at = k.End
	}
	return b.String()
}

// ours are the names and constants that rules write themselves.
var ours = strings.Fields(`unit_id id sites places public each shown released key value range place before tiled complete n
	percentiles stddev avg count sum max min bool_or rank row_number percentile_cont percentile_disc mode make_interval secs epoch
	text replace dp suggest_bounds epsilon lower upper`)

// strange returns a name in a statement that neither the client has written, nor a rule, nor the schema has.
func strange(client, sql string) string {
	known := map[string]bool{}
	toks, _, _ := lex.Scan(client)
	for _, k := range toks {
		known[strings.Trim(client[k.Start:k.End], `"`)] = true
	}
	toks, _, _ = lex.Scan(sql)
	for _, k := range toks {
		name := strings.Trim(sql[k.Start:k.End], `"`)
		if k.Kind == pg.Token_IDENT && !known[name] && !slices.Contains(ours, name) && !strings.HasSuffix(name, "_bounds") {
			return name
		}
	}
	return ""
}

// TestRandom writes statements in the place of random ones that are refused anywhere: each can be parsed, and names nothing but what the
// client and the schema name. Clauses and expressions have their own texts.
func TestRandom(t *testing.T) {
	r, g := rand.New(rand.NewPCG(7, 1)), sqlgen.New(7)
	written, places := map[string]int{}, 0
	for range 3 {
		schema := g.Schema(sqlgen.Adversarial)
		for range 100 {
			sql := scattered(r, g.Statement(schema).SQL)
			toks, _, _ := lex.Scan(sql)
			for _, c := range Instead(sql, toks[r.IntN(len(toks))].Start, anything{}) {
				if tree, err := pg.Parse(lex.Uncommented(c.String())); err != nil || len(tree.Stmts) == 0 {
					t.Errorf("%s\n%s: %s: %v", sql, c.rule, c.String(), err)
				}
				if name := strange(sql, c.String()); name != "" {
					t.Errorf("%s\n%s: %s: %s is no name of the client's", sql, c.rule, c.String(), name)
				}
				written[c.rule]++
			}
			if s, ok := read(sql); ok {
				places += checkTexts(t, s)
			}
		}
	}
	for _, sql := range []string{
		`SELECT a IS DISTINCT FROM b AS "from", (t).where AS group, (a + b) * -c[1] FROM t WHERE (a IS NOT DISTINCT FROM b) OR NOT (c)`,
		`SELECT DISTINCT ON (a, (b)) extract(year FROM day), ((SELECT 1)) FROM t, LATERAL (SELECT x.limit FROM x) y ORDER BY a FOR UPDATE`,
		`SELECT FROM ONLY t AS u (a, b), v * GROUP BY a, ROLLUP (b) HAVING count(*) FILTER (WHERE a IN (1, 2)) > 1 OFFSET 1 ROWS`,
		`WITH t AS (SELECT 1 UNION SELECT 2 FROM u) SELECT day AT TIME ZONE 'UTC', (a, b) OVERLAPS (c, d), NOT EXISTS (SELECT FROM u)`,
	} {
		s, ok := read(sql)
		if !ok {
			t.Fatal(sql)
		}
		places += checkTexts(t, s)
	}
	t.Log(written, places)
	if len(written) < 10 || places < 1000 {
		t.Errorf("%v: %d places", written, places)
	}
}

// checkTexts holds the texts of a statement against its tree, and counts them.
func checkTexts(t *testing.T, s *statement) (n int) {
	t.Helper()
	means := func(sql string, want *pg.SelectStmt) {
		t.Helper()
		n++
		want.LimitOption, want.Op = pg.LimitOption_LIMIT_OPTION_DEFAULT, pg.SetOperation_SETOP_NONE
		tree, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: want}}})
		if got, ok := pgtree.CanonicalText(sql); !ok || string(got) != string(tree) {
			t.Errorf("%s\nis not %s", s.sql, sql)
		}
	}
	one := []*pg.Node{target(pg.MakeAConstIntNode(1, -1))}
	pgtree.Every(s.stmt, func(m *pg.Node) {
		switch m.GetNode().(type) {
		case *pg.Node_ColumnRef, *pg.Node_FuncCall, *pg.Node_SubLink, *pg.Node_AExpr, *pg.Node_CaseExpr, *pg.Node_BoolExpr:
			if m.GetSubLink().GetSubLinkType() == pg.SubLinkType_ANY_SUBLINK {
				return // NOT IN has no text for what it denies
			}
			means("SELECT "+s.text(m), &pg.SelectStmt{TargetList: []*pg.Node{target(m)}})
		case *pg.Node_SelectStmt:
			q := s.located(m.GetSelectStmt())
			if q == nil {
				return
			}
			means("SELECT "+q.clause(targets), &pg.SelectStmt{TargetList: q.TargetList})
			if q.has(from) {
				means("SELECT 1 FROM "+q.clause(from), &pg.SelectStmt{TargetList: one, FromClause: q.FromClause})
			}
			if q.has(where) {
				means("SELECT 1 WHERE "+q.clause(where), &pg.SelectStmt{TargetList: one, WhereClause: q.WhereClause})
			}
			if q.has(having) {
				means("SELECT 1 HAVING "+q.clause(having), &pg.SelectStmt{TargetList: one, HavingClause: q.HavingClause})
			}
			if q.has(groups) {
				means("SELECT 1 GROUP BY "+q.clause(groups),
					&pg.SelectStmt{TargetList: one, GroupClause: q.GroupClause, GroupDistinct: q.GroupDistinct})
			}
			if q.has(order) {
				means("SELECT 1 ORDER BY "+q.clause(order), &pg.SelectStmt{TargetList: one, SortClause: q.SortClause})
			}
			if s.lost {
				t.Errorf("%s has a part that is not found", s.sql)
			}
			kept := q.with(distinct, into, from, where, groups, having, windows, order, limit).String()
			if want := s.sql[q.Start:q.End]; kept != want {
				t.Errorf("%s\nis not %s", kept, want)
			}
		}
	})
	return n
}

func target(val *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: val}}}
}

// TestFew bounds what is parsed, and what is written. A part that is not found spoils what its rule writes, and no other rule's.
func TestFew(t *testing.T) {
	if all := Instead("SELECT "+strings.Repeat("a+", maxInstead/2-20)+"a FROM t", -1, anything{}); all != nil {
		t.Error(all)
	}
	var many strings.Builder
	for range 2 * mostFound {
		many.WriteString("(SELECT max(a" + strconv.Itoa(many.Len()) + ") FROM t), ")
	}
	if all := Instead("SELECT "+many.String()+"1 FROM t", -1, anything{}); len(all) != mostFound {
		t.Errorf("%d statements", len(all))
	}
	s, _ := read("SELECT a FROM t")
	r := newRefused(s, -1, anything{})
	r.apply(
		rule{"lost", func(r *refused) { r.ask(r.text(pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode("b")}, -1))) }},
		rule{"found", func(r *refused) { r.ask(r.text(valueOf(r.TargetList[0]))) }},
	)
	if len(r.found) != 1 || r.found[0].rule != "found" || r.found[0].SQL != "a" {
		t.Error(r.found)
	}
}

// A name is written as Postgres must read it.
func TestIdent(t *testing.T) {
	for _, name := range []string{"a", "day", "user", "Größe", "A", "a b", `a"b`, "select", "left", "values", "", "x1_"} {
		sql := ident(name)
		tree, err := pg.Parse("SELECT t." + sql)
		if name != "" && (err != nil || columnOf(valueOf(tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0])) != name) {
			t.Errorf("%q: %s", name, sql)
		}
		if quoted := sql == ast.QuoteIdent(name); quoted == slices.Contains([]string{"a", "day", "x1_"}, name) {
			t.Errorf("%q: %s", name, sql)
		}
	}
}
