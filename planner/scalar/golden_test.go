package scalar_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// TestGolden draws expressions of testdata/golden: how they are written, in which
// type and within which bounds; and those of testdata/refused: why not. Commands:
//
//	expr                       an expression over a row of t
//	inner [by=(i4)]            one over the rows of a unit, grouped by more expressions
//	narrow where=(i4 > 0)      its bounds on rows where a condition is true
//
// Constants are evaluated as in an analyst's session, on one day for ever.
func TestGolden(t *testing.T) {
	shared := *open(t)
	db := &shared
	db.today = "2026-06-15"
	for _, dir := range []string{"testdata/golden", "testdata/refused"} {
		refused := dir == "testdata/refused"
		datadriven.Walk(t, dir, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := db.draw(t, d)
				if refused != (err != nil) {
					d.Fatalf(t, "refused: %v\n%s", err, out)
				}
				return out
			})
		})
	}
}

func (db *database) draw(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	r := resolver()
	text := strings.TrimSpace(d.Input)
	e, sql, err := parse(text)
	switch d.Cmd {
	case "inner":
		e, sql, err = parseUnit(t, d, r)
	case "narrow":
		return db.drawNarrowed(t, d, r, e, sql)
	}
	if err != nil {
		return refusal(sql, err), err
	}
	res, err := db.resolve(t.Context(), r, e)
	if err != nil {
		return refusal(sql, err), err
	}
	res.env.Before14 = false
	w := res.writer()
	value, physical, err := w.Value(res.x)
	if err != nil {
		return refusal(sql, err), err
	}
	bounds := res.env.Bounds(res.x)
	var b strings.Builder
	fmt.Fprintf(&b, "type: %s", res.x.Type())
	if physical != res.x.Type() {
		fmt.Fprintf(&b, ", written as %s", physical)
	}
	fmt.Fprintf(&b, "\nbounds: %s\n", drawInterval(bounds))
	for i, f := range r.Constants.Folds() {
		fmt.Fprintf(&b, "$%d: %s %s\n", i+1, f.Type, f.SQL)
	}
	fmt.Fprintf(&b, "sql: %s\n", value)
	if bounded, _, err := w.Clamped(res.x, bounds); err == nil && bounded != value {
		fmt.Fprintf(&b, "bounded: %s\n", bounded)
	}
	return b.String(), nil
}

// parseUnit parses an expression over the rows of a unit and sets the resolver to it.
func parseUnit(t *testing.T, d *datadriven.TestData, r *scalar.Resolver) (ast.Expr, string, error) {
	t.Helper()
	by := ""
	for _, arg := range d.CmdArgs {
		if arg.Key == "by" {
			by = ", " + strings.Join(arg.Vals, ", ")
		}
	}
	e, keys, sql, err := parseInner(strings.TrimSpace(d.Input), by)
	if err != nil {
		return nil, sql, err
	}
	unit := &scalar.UnitGroup{Rows: 20}
	for _, k := range keys {
		x, err := r.Expr(k)
		if err != nil {
			return nil, sql, err
		}
		unit.Keys = append(unit.Keys, x)
	}
	r.Unit = unit
	return e, sql, nil
}

func (db *database) drawNarrowed(t *testing.T, d *datadriven.TestData, r *scalar.Resolver, e ast.Expr, text string) (string, error) {
	t.Helper()
	where, _, err := parse(strings.Join(d.CmdArgs[0].Vals, ", "))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	cond, err := r.Boolean(where)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	for _, c := range cond.Columns() {
		if c.Name == "v" || c.Name == "c" {
			c.Values = []string{"one", "two", "three", "four", "five", "six", "seven"}
		}
	}
	res, err := db.resolve(t.Context(), r, e)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	res.env.Before14 = false
	narrowed := res.env.Narrowed(res.x, []scalar.Expr{cond})
	out := drawInterval(res.env.Bounds(res.x)) + " -> " + drawInterval(narrowed) + "\n"
	if share, ranges, known := scalar.Share(res.env, []scalar.Expr{cond}); known {
		out += "leaves " + share.FloatString(3)
		if !ranges {
			out += ", not by ranges alone"
		}
		out += "\n"
	}
	sql, _, err := res.writer().Clamped(res.x, narrowed)
	if err != nil {
		return out + refusal(text, err), nil
	}
	return out + sql + "\n", nil
}

// drawInterval writes an interval, e.g. [0, 110] or NULL, not below 1/100 if not 0.
func drawInterval(i scalar.Interval) string {
	s := "none"
	if i.Bounded() {
		s = "[" + drawNumber(i.Low) + ", " + drawNumber(i.High) + "]"
	}
	if i.Null {
		s += " or NULL"
	}
	if i.Bounded() && i.Least != nil && i.Least.Cmp(big.NewRat(1, 1)) != 0 {
		s += ", at least " + drawNumber(i.Least) + " if not 0"
	}
	return s
}

func drawNumber(r *big.Rat) string {
	if digits, exact := r.FloatPrec(); exact && digits <= 10 && r.Num().BitLen() < 100 {
		return r.FloatString(digits)
	}
	f, _ := r.Float64()
	return fmt.Sprintf("about %.6g", f)
}

// refusal draws an error below the text that it is about.
func refusal(text string, err error) string {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err.Error() + "\n"
	}
	s := e.Error() + "\n"
	if e.Position > 0 {
		s += "  " + text + "\n  " + strings.Repeat(" ", len([]rune(text[:e.Position-1]))) + "^\n"
	}
	if e.Hint != "" {
		s += "hint: " + e.Hint + "\n"
	}
	return s
}
