package planner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/work"
)

// TestKeptPlans asks a query and a plan after the client has left for whom they were made: proofs, questions and reads of what is left are
// the same.
func TestKeptPlans(t *testing.T) {
	conn := connect(t)
	cat := ledger(t, conn)
	ended := func() (*work.Meter, func()) {
		ctx, leave := context.WithCancel(t.Context())
		m := work.New(ctx, work.Most)
		return m, func() {
			leave()
			if m.Spend(2000) == nil {
				t.Fatal("the meter goes on")
			}
		}
	}
	for _, sql := range []string{
		"SELECT o.class, sum(CASE WHEN c.kind - 1 <= 3 THEN 1 ELSE 0 END), sum(CASE WHEN c.kind - 1 > 5 THEN 1 ELSE 0 END), " +
			"avg(c.kind), count(DISTINCT c.place) FROM charges c JOIN terms t ON t.id = c.term JOIN codes o ON o.id = c.code GROUP BY 1",
		"SELECT count(*), sum(n), max(n) FROM (SELECT patient_id, count(*) AS n FROM charges c JOIN terms t ON t.id = c.term GROUP BY 1) q",
	} {
		told := func(leaves bool) (all []string) {
			script, err := parser.Parse(sql, planner.Names(cat))
			if err != nil {
				t.Fatal(err)
			}
			meter, leave := ended()
			q, err := planner.Analyze(meter, cat, script.Statements[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			values := evaluate(t, conn, q, nil, nil)
			if leaves {
				leave()
			}
			meter, leave = ended()
			p, err := q.Specialize(meter, values, planner.Settings{
				EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05,
				Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
			})
			if err != nil {
				t.Fatal(err)
			}
			if leaves {
				leave()
			}
			b := p.Blocks[0]
			parts := planner.PartsOf(b)
			for i, part := range parts {
				question := fmt.Sprintf("%q", part.Question())
				if slices.Contains(all, question) {
					t.Errorf("%s: two parts are one question: %s", sql, question)
				}
				known := make([]bool, len(parts))
				known[i] = true
				left, err := planner.Without(b, known)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, question)
				for _, r := range left.Sets[0].Reads {
					all = append(all, r.SQL)
				}
			}
			return all
		}
		stays, leaves := told(false), told(true)
		for i := range stays {
			if stays[i] != leaves[i] {
				t.Errorf("%s:\n%s\nis after the client has left\n%s", sql, stays[i], leaves[i])
			}
		}
	}
}

// TestQuestionsAsWritten holds that each part of a block has a question of its own, also where normal forms would be too large.
func TestQuestionsAsWritten(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	p := plan(t, conn, cat, "SELECT sum(CASE WHEN cost > 3 THEN 1 ELSE 0 END), sum(CASE WHEN cost > 5 THEN 1 ELSE 0 END), "+
		"sum(CASE WHEN cost > 7 THEN 1 ELSE 0 END), count(*) FILTER (WHERE cost > 3), count(*) FILTER (WHERE cost > 5) FROM visits")
	asked := map[string]int{}
	parts := planner.PartsOf(p.Blocks[0])
	for _, part := range parts {
		question := fmt.Sprintf("%q", part.AsWritten())
		if !strings.Contains(question, "as written") {
			t.Fatalf("the normal form is not too large: %s", question)
		}
		asked[question]++
	}
	if len(asked) != len(parts) || len(parts) != 5 {
		t.Errorf("%d parts ask %d questions", len(parts), len(asked))
	}
}
