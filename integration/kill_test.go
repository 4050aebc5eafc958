package integration_test

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/dp"
)

// kills is how often the proxy is killed.
const kills = 100

// TestKill kills dpproxy at random moments while a client asks. Every answer that
// the client saw must be in the ledger when dpproxy comes back, and the ledger's
// sums must be those of its entries.
func TestKill(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy)
	seen := 0
	for range kills {
		r := s.run(t)
		answers := make(chan int)
		ctx, stop := context.WithCancel(t.Context())
		go func() { answers <- ask(ctx, r.url("ana")) }()
		wait(t, 60*time.Millisecond)
		r.kill()
		stop()
		seen += <-answers
	}
	charges, spent := charges(t, s)
	t.Logf("%d kills, %d answers seen, %d charges recorded", kills, seen, charges)
	if seen < kills {
		t.Errorf("only %d answers in %d runs: the test sees too little", seen, kills)
	}
	if charges < seen {
		t.Errorf("%d answers were seen, but only %d charges are recorded", seen, charges)
	}
	if charges > seen+kills {
		t.Errorf("%d charges for %d answers: more than one lost answer a kill", charges, seen)
	}
	r := s.run(t)
	conn := dial(t, r.url("ana"))
	var shown string
	if err := conn.QueryRow(t.Context(), "SELECT spent::text FROM dp.budget WHERE kind = 'unit'").Scan(&shown); err != nil {
		t.Fatal(err)
	}
	if want := dp.Decimal(spent, 12); trimZeros(shown) != want {
		t.Errorf("dp.budget shows %s spent, the entries sum to %s", shown, want)
	}
}

// ask counts the answers that it gets before the connection breaks.
func ask(ctx context.Context, url string) int {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0
	}
	defer conn.Close(context.Background())
	for n := 0; ; n++ {
		var v int64
		if conn.QueryRow(ctx, "SELECT count(*) FROM patients WHERE birth_year > $1", 1940+n%50).Scan(&v) != nil {
			return n
		}
	}
}

// wait lets a random time pass: the kill must come at a random point of the path.
func wait(t *testing.T, most time.Duration) {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(int64(most)))
	if err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(20*time.Millisecond + time.Duration(n.Int64()))
	<-timer.C
}

// charges reads the ledger's entries: how many charges, and what they sum to.
func charges(t *testing.T, s *site) (n int, spent int64) {
	t.Helper()
	for rec, err := range logledger.Entries(t.Context(), s.dir+"/ledger") {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := rec.Entry.(history.ChargeEntry); ok {
			n++
			for _, d := range c.Debits {
				if d.Scope.Kind == accountant.UnitScope {
					spent += d.Loss.Pico()
				}
			}
		}
	}
	return n, spent
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}
