package planner_test

import (
	"testing"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
)

const benchmarkSQL = `SELECT diagnosis, count(*), avg(cost) FROM visits WHERE day >= '2023-01-01' AND cost > 10 GROUP BY diagnosis HAVING count(*) > 5 ORDER BY 2 DESC`

var (
	benchmarkTypes    = []uint32{1082, 23}
	benchmarkValues   = []planner.Value{{OID: 1082, Binary: true, Bytes: []byte{0, 0, 32, 211}}, {OID: 23, Binary: true, Bytes: []byte{0, 0, 0, 10}}}
	benchmarkSettings = planner.Settings{EpsilonPico: dp.PicoPerUnit / 10, Mechanism: "auto", Alpha: 0.05}
)

// BenchmarkUncached plans a statement that was never seen: text to plan.
func BenchmarkUncached(b *testing.B) {
	cat, _ := planner.NewCatalog(clinicPolicy(), clinicSchema())
	b.ReportAllocs()
	for b.Loop() {
		script, err := parser.Parse(benchmarkSQL, cat)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := template(b, cat, script.Statements[0]).Bind(benchmarkValues, benchmarkSettings); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSeen plans a statement whose text was seen before: only the values of
// its constants and the settings are new.
func BenchmarkSeen(b *testing.B) {
	cat, _ := planner.NewCatalog(clinicPolicy(), clinicSchema())
	script, err := parser.Parse(benchmarkSQL, cat)
	if err != nil {
		b.Fatal(err)
	}
	tm := template(b, cat, script.Statements[0])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tm.Bind(benchmarkValues, benchmarkSettings); err != nil {
			b.Fatal(err)
		}
	}
}

func template(b *testing.B, cat *planner.Catalog, st *parser.Statement) *planner.Template {
	b.Helper()
	q, err := planner.Analyze(cat, st)
	if err != nil {
		b.Fatal(err)
	}
	tm, err := q.Compile(benchmarkTypes)
	if err != nil {
		b.Fatal(err)
	}
	return tm
}
