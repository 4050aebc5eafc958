package faults_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/dp"
	"dpproxy/internal/sitetest"
)

// Two clients race for the last of a budget, racers times racesEach = 1,000 times.
const (
	racers    = 40
	racesEach = 25
)

// TestRace lets two clients of an analyst ask at the same time for six tenths of
// the rest of their budget: there is enough for one of them, each time.
func TestRace(t *testing.T) {
	policy := sitetest.ClinicPolicy
	for i := range racers {
		policy += fmt.Sprintf("  racer%d: {password: \"VERIFIER\", tables: [patients], budget: {epsilon: 1}}\n", i)
	}
	s := sitetest.New(t, sitetest.ClinicSchema, policy)
	r := s.Run(t)
	for i := range racers {
		pair := []*pgx.Conn{sitetest.Dial(t, r.URL(fmt.Sprintf("racer%d", i))), sitetest.Dial(t, r.URL(fmt.Sprintf("racer%d", i)))}
		left := int64(dp.PicoPerUnit)
		for range racesEach {
			ask := left * 6 / 10
			if answers := race(t, pair, ask); answers != 1 {
				t.Fatalf("%d answers for %s of %s", answers, dp.Decimal(ask, 12), dp.Decimal(left, 12))
			}
			left -= ask
		}
		sitetest.Exec(t, pair[0], "SELECT 1")
		pair[0].Close(t.Context())
		pair[1].Close(t.Context())
	}
	if n, _ := sitetest.Charges(t, s); n != racers*racesEach {
		t.Errorf("%d charges are recorded, want %d", n, racers*racesEach)
	}
}

// race asks on both connections at once and counts the answers; the other must
// have been refused for want of budget.
func race(t *testing.T, pair []*pgx.Conn, epsilonPico int64) (answers int) {
	t.Helper()
	for _, c := range pair {
		sitetest.Exec(t, c, "SET dp.epsilon = '"+dp.Decimal(epsilonPico, 12)+"'")
	}
	var both sync.WaitGroup
	errs := make([]error, len(pair))
	start := make(chan struct{})
	for i, c := range pair {
		both.Go(func() {
			<-start
			var n int64
			errs[i] = c.QueryRow(t.Context(), "SELECT count(*) FROM patients").Scan(&n)
		})
	}
	close(start)
	both.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			answers++
		case sitetest.SQLState(err) != "PB001" || !strings.Contains(err.Error(), "no room"):
			t.Fatal(err)
		}
	}
	return answers
}
