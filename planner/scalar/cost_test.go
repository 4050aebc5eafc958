package scalar_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A cost is what Postgres 15 takes for a text, in ns: for each of its octets and characters, and
// at each character for each octet that is looked for there. Measured with texts of 65,536
// characters of one and four octets that are like themselves everywhere.
type cost struct{ octet, character, sought float64 }

var costs = map[string]cost{
	"LIKE": {0, 5, 1.2}, "NOT LIKE": {0, 5, 1.2}, "ILIKE": {0, 15, 1.2}, "NOT ILIKE": {0, 15, 1.2},
	"position": {0, 3, 0.5}, "strpos": {0, 3, 0.5}, "replace": {0, 3, 0.5}, "split_part": {0, 3, 0.5}, "starts_with": {0.4, 0, 0},
	"btrim": {0, 5, 3.4}, "ltrim": {0, 5, 3.4}, "rtrim": {0, 5, 3.4},
	"translate": {0, 13, 6.5},
	"md5":       {1.9, 0, 0}, "||": {0.5, 0, 0}, "concat": {0.5, 0, 0}, "octet_length": {0, 0, 0},
	"length": {0, 5.3, 0}, "char_length": {0, 5.3, 0}, "character_length": {0, 5.3, 0}, "reverse": {0, 7.7, 0},
	"lower": {0, 10, 0}, "upper": {0, 14, 0}, "initcap": {0, 14, 0},
	"substring": {0, 7.8, 0}, "substr": {0, 7.8, 0}, "left": {0, 8.7, 0}, "right": {0, 8.7, 0}, "lpad": {0, 9, 0}, "rpad": {0, 9, 0},
}

const (
	stepTime = 300 // ns
	fetched  = 2.7 // ns for each octet of a text that is stored apart from its row
)

// TestCostOfTextsLikeThemselves holds that a function of a text costs at least the time that it
// takes for the worst one, for every function that a text may be an argument of.
func TestCostOfTextsLikeThemselves(t *testing.T) {
	db, tried := open(t), map[string]bool{}
	varchar := pgtype.Type{OID: 1043, Mod: 1004, Deterministic: true}
	for _, s := range []struct {
		sample
		characters float64
		apart      float64
	}{
		{sample{name: "text", typ: pgtype.Of(25), reach: scalar.Beginning}, 16384, fetched},
		{sample{name: "indexed text", typ: pgtype.Of(25), reach: scalar.Whole}, 16384, fetched},
		{sample{name: "varchar(1000)", typ: varchar, reach: scalar.Whole}, 1000, 0},
	} {
		for _, n := range []int{2, 40, 250} {
			for name, texts := range searching(n) {
				for _, text := range texts {
					cost, ok := db.cost(t, s.sample, text)
					if !ok {
						continue
					}
					tried[name] = true
					c, measured := costs[name]
					if !measured {
						t.Fatalf("%s: nobody measured %s", text, name)
					}
					sought := 1.0 // a blank
					if strings.Contains(text, "repeat") {
						sought = float64(n)
					}
					want := s.characters * (4*(c.octet+s.apart) + c.character + c.sought*sought)
					if float64(cost)*stepTime < want {
						t.Errorf("%s of %s costs %d, less than %.0f ns", text, s.name, cost, want)
					}
				}
			}
		}
	}
	for name := range costs {
		if !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

// searching lists calls on x with other texts of n octets, by what they call.
func searching(n int) map[string][]string {
	sought := fmt.Sprintf("'b' || repeat('a', %d)", n-1)
	all := map[string][]string{"concat": {"concat(x, " + sought + ")"}}
	for _, op := range []string{"LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"} {
		for _, pattern := range []string{
			"'%' || repeat('a', %d) || 'b%%'", "'%%' || repeat('a', %d) || 'b'",
			"'a%%' || repeat('a', %d) || 'b%%'",
		} {
			all[op] = append(all[op], "x "+op+" "+fmt.Sprintf(strings.Replace(pattern, "'%'", "'%%'", 1), n-1))
		}
	}
	for _, f := range scalar.Allowed() {
		args := make([]string, len(f.Args))
		for i, a := range f.Args {
			args[i] = map[uint32]string{25: sought, 23: "60000"}[a]
		}
		if len(args) == 0 || f.Args[0] != 25 || slices.Contains(args, "") {
			continue
		}
		args[0] = "x"
		switch {
		case f.Name == "position":
			all[f.Name] = append(all[f.Name], "position("+args[1]+" IN x)")
		case f.Operator:
			all[f.Name] = append(all[f.Name], strings.Join(args, " "+f.Name+" "))
		default:
			all[f.Name] = append(all[f.Name], f.Name+"("+strings.Join(args, ", ")+")")
		}
	}
	return all
}

// cost returns that of an expression over a column x, if it is allowed.
func (db *database) cost(t *testing.T, s sample, text string) (int64, bool) {
	t.Helper()
	e, _, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r, c := resolver(), s.column()
	r.Column = func(*ast.Column) (*scalar.Column, error) { return c, nil }
	res, err := db.resolve(t.Context(), r, e)
	if err != nil {
		return 0, false
	}
	if _, _, err := res.writer().Value(res.x); err != nil {
		return 0, false
	}
	return res.env.EvalCost(res.x), true
}
