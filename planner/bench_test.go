package planner_test

import (
	"testing"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

const benchmarkSQL = `SELECT diagnosis, count(*), avg(cost) FROM visits WHERE day >= '2023-01-01' AND cost > 10` +
	` GROUP BY diagnosis HAVING count(*) > 5 ORDER BY 2 DESC`

// BenchmarkUncached plans a statement that was never seen: text to plan.
func BenchmarkUncached(b *testing.B) {
	cat, _ := policy.Check(clinicPolicy(), clinicSchema())
	names := planner.Names(cat)
	values := evaluate(b, connect(b), analyze(b, cat, names), nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := analyze(b, cat, names).Specialize(nil, values, benchmarkSettings); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSeen plans a statement whose text was seen before: only the values of
// its constants and the settings are new.
func BenchmarkSeen(b *testing.B) {
	cat, _ := policy.Check(clinicPolicy(), clinicSchema())
	q := analyze(b, cat, planner.Names(cat))
	values := evaluate(b, connect(b), q, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Specialize(nil, values, benchmarkSettings); err != nil {
			b.Fatal(err)
		}
	}
}

var benchmarkSettings = planner.Settings{
	EpsilonPico: dp.PicoPerUnit / 10, Mechanism: "auto", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
}

func analyze(b *testing.B, cat *policy.Model, names ast.Names) *planner.Query {
	b.Helper()
	script, err := parser.Parse(benchmarkSQL, names)
	if err != nil {
		b.Fatal(err)
	}
	q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
	if err != nil {
		b.Fatal(err)
	}
	return q
}
