package planner_test

import (
	"errors"
	"testing"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// Local time at the end of time is out of range in zones east of UTC: one row would make
// the read fail.
func TestKeyOfUnboundedTime(t *testing.T) {
	cat := clinic(t)
	script, err := parser.Parse("SELECT date_trunc('month', at), count(*) FROM visits GROUP BY 1", cat)
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(cat, script.Statements[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Bind(evaluate(t, connect(t), q, nil, nil), planner.Settings{
		EpsilonPico: 1e12, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05, Limits: planner.Limits{PublicFanout: 1000, Work: 1e6},
	})
	if refusal, ok := errors.AsType[*pgerr.Error](err); !ok || refusal.Code != pgerr.NoBounds {
		t.Errorf("an unbounded time is grouped by: %v", err)
	}
}
