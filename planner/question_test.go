package planner_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestUnknownQuestions finds no remembered answer for a block with a released result that is not known, whatever stands in its place.
func TestUnknownQuestions(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	question := func(sql string) []byte {
		script, err := unknown(sql).Parse(planner.Names(cat))
		if err != nil {
			t.Fatal(err)
		}
		q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		values := evaluate(t, conn, q, nil, nil)
		p, err := q.Specialize(nil, values, planner.Settings{
			EpsilonPico: dp.PicoPerUnit, Mechanism: "auto", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Join(p.Blocks[0].Question(), []byte{0})
	}
	const sql = "SELECT count(*) FROM visits WHERE cost > "
	if bytes.Equal(question(sql+"CAST('5' AS numeric)"), question(sql+"⟨CAST('5' AS numeric)⟩")) {
		t.Error("what is not known asks the same as a constant")
	}
}

// TestQuestionsStay pins digests of questions, which remembered answers are found by. A change
// here makes sites forget the answers that they have paid for: it must be meant, as where the
// SQL for the protected database changes its meaning.
func TestQuestionsStay(t *testing.T) {
	served := plannertest.ServedVersion
	plannertest.ServedVersion = 150000 // what is read depends on it
	defer func() { plannertest.ServedVersion = served }()
	conn, cat := connect(t), clinic(t)
	digest := func(parts [][]byte) string {
		sum := sha256.Sum256(bytes.Join(parts, []byte{0}))
		return hex.EncodeToString(sum[:6])
	}
	for _, tt := range []struct{ sql, mechanism, once, refined string }{
		{"SELECT count(*) FROM patients", "brownian", "2c5cb312cae8", "5a31d198cc6b"},
		{"SELECT diagnosis, avg(cost) FROM visits WHERE cost > 100 GROUP BY 1", "brownian", "4fb74833c730", "06ce8c96c9ad"},
		{
			"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker", "laplace_reduction",
			"706e001e6b82", "53e2cba6af4e",
		},
	} {
		p := plan(t, conn, cat, tt.sql)
		if got := digest(p.Blocks[0].Question()); got != tt.once {
			t.Errorf("%s: the question is %s, and was %s", tt.sql, got, tt.once)
		}
		r := planWith(t, conn, cat, tt.sql, func(s *planner.Settings) {
			s.Mechanism, s.TypicalPico, s.Target.Relative = tt.mechanism, s.EpsilonPico/10, 0.1
			s.Pure = tt.mechanism == "laplace_reduction"
		})
		if got := digest(r.Blocks[0].ReductionQuestion()); got != tt.refined {
			t.Errorf("%s: the question of its noise reduction is %s, and was %s", tt.sql, got, tt.refined)
		}
	}
}
