package faults_test

import (
	"testing"

	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// TestPrepaidOutlivesDpproxy interrupts a read, kills dpproxy, and asks again: it was paid. The ledger is embedded, or
// in Redis, where another proxy answers.
func TestPrepaidOutlivesDpproxy(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Gated(t)
	shared := s.OnRedis(t, redistemp.Start(t, redistemp.Durable...), "")
	shared.InitAgain(t)
	for name, s := range map[string]*sitetest.Site{"embedded": s, "Redis": shared} {
		t.Run(name, func(t *testing.T) {
			r := s.Run(t)
			const sql = "SELECT count(*) FROM visits WHERE cost > 50"
			s.Gate.Fail("40001")
			_, err := sitetest.Dial(t, r.URL("ana")).Exec(t.Context(), sql)
			sitetest.Fails(t, err, "PB017", "ask again")
			s.Gate.Open()
			paid := s.UnitSpent(t)
			r.Kill()
			ana := sitetest.Dial(t, s.Run(t).URL("ana"))
			sitetest.Exec(t, ana, sql)
			if now := s.UnitSpent(t); now != paid || paid == "0" {
				t.Errorf("paid was %s, and when it was answered %s", paid, now)
			}
			sitetest.Exec(t, ana, sql)
			if now := s.UnitSpent(t); now == paid {
				t.Errorf("when it was answered, it is asked again for nothing: %s", now)
			}
		})
	}
}
