package planner_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// TestPlans draws the plan, or the refusal, of every statement in
// testdata/plan and testdata/refused. A diff of these files is the review of
// what is read, how it is bounded and what it costs. Commands:
//
//	plan [epsilon=1] [mechanism=auto] [pure] [types=(23,1700)] [params=(23)]
//
// types are the OIDs that the mirror reports for the constants of the
// statement, in order; a constant without one takes its column's.
func TestPlans(t *testing.T) {
	cat := clinic(t)
	for _, dir := range []string{"testdata/plan", "testdata/refused"} {
		refused := dir == "testdata/refused"
		datadriven.Walk(t, dir, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := drawPlan(t, cat, d)
				if refused && err == nil {
					d.Fatalf(t, "accepted:\n%s", out)
				}
				if err != nil {
					return out + "\n"
				}
				return out
			})
		})
	}
}

func drawPlan(t *testing.T, cat *planner.Catalog, d *datadriven.TestData) (string, error) {
	script, err := parser.Parse(d.Input, cat)
	if err != nil {
		return refusal(d.Input, err), err
	}
	st := script.Statements[0]
	if st.Class == parser.Refused {
		return refusal(st.Text, st.Refusal), st.Refusal
	}
	if st.Class != parser.Release && st.Class != parser.Explain {
		d.Fatalf(t, "class %d", st.Class)
	}
	plan, err := makePlan(cat, st, d)
	if err != nil {
		return refusal(st.Text, err), err
	}
	return strings.Join(plan.Explain(costs(t, plan, d)), "\n") + "\n", nil
}

func makePlan(cat *planner.Catalog, st *parser.Statement, d *datadriven.TestData) (*planner.Plan, error) {
	q, err := planner.Analyze(cat, st)
	if err != nil {
		return nil, err
	}
	oids := foldTypes(q, d)
	tm, err := q.Compile(oids)
	if err != nil {
		return nil, err
	}
	vals := make([]planner.Value, len(oids))
	for i, f := range q.Folds() {
		vals[i] = planner.Value{OID: oids[i], Binary: true, Bytes: []byte(literal(f.SQL))}
	}
	s := planner.Settings{EpsilonPico: dp.PicoPerUnit, Mechanism: "auto", Pure: d.HasArg("pure"), Alpha: 0.05}
	if d.HasArg("mechanism") {
		s.Mechanism = d.CmdArgs[indexArg(d, "mechanism")].Vals[0]
	}
	if d.HasArg("epsilon") {
		f, _ := strconv.ParseFloat(d.CmdArgs[indexArg(d, "epsilon")].Vals[0], 64)
		s.EpsilonPico = int64(f * dp.PicoPerUnit)
	}
	return tm.Bind(vals, s)
}

// literal returns the content of the string literal in an expression of ours.
func literal(sql string) string {
	from, to := strings.IndexByte(sql, '\''), strings.LastIndexByte(sql, '\'')
	if from == to {
		return sql
	}
	return strings.NewReplacer("''", "'", `\\`, `\`).Replace(sql[from+1 : to])
}

func indexArg(d *datadriven.TestData, key string) int {
	for i, a := range d.CmdArgs {
		if a.Key == key {
			return i
		}
	}
	return -1
}

// foldTypes stands in for the mirror: literals have the types that Postgres
// gives them.
func foldTypes(q *planner.Query, d *datadriven.TestData) []uint32 {
	var given []string
	if i := indexArg(d, "types"); i >= 0 {
		given = d.CmdArgs[i].Vals
	}
	oids := make([]uint32, len(q.Folds()))
	for i, f := range q.Folds() {
		switch {
		case i < len(given):
			n, _ := strconv.ParseUint(given[i], 10, 32)
			oids[i] = uint32(n)
		case strings.Contains(f.SQL, "pg_catalog.date)"):
			oids[i] = 1082
		case strings.Contains(f.SQL, "pg_catalog.timestamptz)"):
			oids[i] = 1184
		case strings.Contains(f.SQL, "mood"):
			oids[i] = 20001
		case strings.Contains(f.SQL, "float8)"):
			oids[i] = 701
		case strings.Contains(f.SQL, "'"):
			oids[i] = 25
		case strings.Contains(f.SQL, "."):
			oids[i] = 1700
		case f.SQL == "true" || f.SQL == "false":
			oids[i] = 16
		default:
			oids[i] = 23
		}
	}
	return oids
}

// costs prices a plan in a full budget of 100.
func costs(t *testing.T, p *planner.Plan, d *datadriven.TestData) []planner.Cost {
	t.Helper()
	if !p.Reads() {
		return nil
	}
	measure := dp.ZCDP
	if d.HasArg("pure") {
		measure = dp.PureDP
	}
	loss, err := accountant.Price(p.Event, measure)
	if err != nil {
		t.Fatal(err)
	}
	full, err := dp.NewLoss(measure, 100*dp.PicoPerUnit, 0)
	if err != nil {
		t.Fatal(err)
	}
	left, err := full.Minus(loss)
	return []planner.Cost{{Scope: "unit patient", Loss: loss, Remaining: left, Fits: err == nil}}
}

func refusal(sql string, err error) string {
	e, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return "error without a SQLSTATE: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "error (%s): %s", e.Code, e.Message)
	if e.Position > 0 {
		at := e.Position - 1
		start := strings.LastIndexByte(sql[:at], '\n') + 1
		line, _, _ := strings.Cut(sql[start:], "\n")
		fmt.Fprintf(&b, "\n  %s\n  %s^", line, strings.Repeat(" ", at-start))
	}
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	return b.String()
}
