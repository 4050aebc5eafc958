package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// specializeWith plans a statement under changed settings.
func specializeWith(t *testing.T, cat *policy.Model, sql string, change func(*planner.Settings)) specialized {
	t.Helper()
	q := analyzed(t, cat, sql)
	settings := planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "laplace", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	}
	change(&settings)
	vals := evaluate(t, connect(t), q, nil, nil)
	p, err := q.Specialize(nil, vals, settings)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return specialized{p, vals}
}

// A limit on the addition of a unit to a sum holds whatever proves how many rows the unit has,
// and on both sides of zero.
func TestMaxSum(t *testing.T) {
	cat := clinic(t)
	conn := connect(t)
	for _, sql := range []string{
		"SELECT sum(birth_year) FROM patients",
		"SELECT sum(-birth_year) FROM patients",
		"SELECT sex, sum(weight) FROM patients GROUP BY 1",
		"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1",
		"SELECT sum(s) FROM (SELECT patient_id, sum(least(cost, 50)) AS s FROM visits GROUP BY 1) t",
	} {
		p := specializeWith(t, cat, sql, func(s *planner.Settings) { s.MaxSum = big.NewRat(3, 1) })
		whole := p.read(t, conn)
		for _, unit := range []int{1, 2, 3} {
			run(t, conn, "BEGIN")
			removeUnit(t, conn, unit)
			p.withinSensitivity(t, sql, whole, p.read(t, conn), map[string]float64{})
			run(t, conn, "ROLLBACK")
		}
	}
}
