package faults_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/dp"
	"dpproxy/internal/sitetest"
)

// kills is how often the proxy is killed.
const kills = 100

// TestKill kills dpproxy at random moments while a client asks: from the first of its connection
// on, and after some answers, however long they take here. Every answer that
// the client saw must be in the ledger when dpproxy comes back, and the ledger's
// sums must be of its entries.
func TestKill(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	seen := 0
	for i := range kills {
		r := s.Run(t)
		first, answers := make(chan struct{}), make(chan int)
		ctx, stop := context.WithCancel(t.Context())
		go func() { answers <- ask(ctx, r.URL("ana"), i%4, func() { close(first) }) }()
		if i%4 > 0 {
			<-first
		}
		sitetest.Pause(t, 15*time.Millisecond)
		r.Kill()
		stop()
		seen += <-answers
	}
	charges, spent := sitetest.Charges(t, s)
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
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	var shown string
	if err := conn.QueryRow(t.Context(), "SELECT spent::text FROM dp.budget WHERE kind = 'unit'").Scan(&shown); err != nil {
		t.Fatal(err)
	}
	if want := dp.Decimal(spent, 12); trimZeros(shown) != want {
		t.Errorf("dp.budget shows %s spent, the entries sum to %s", shown, want)
	}
}

// asked are statements that the protected database adds up, and whose rows dpproxy does.
var asked = []string{
	"SELECT count(*) FROM patients WHERE birth_year > $1",
	"SELECT count(DISTINCT v.hospital_id) FROM visits v JOIN patients p ON p.id = v.patient_id WHERE p.birth_year > $1",
}

// ask counts the answers that it gets before the connection breaks. It tells when it has so many,
// or has none to wait for.
func ask(ctx context.Context, url string, enough int, tell func()) int {
	told := sync.OnceFunc(tell)
	defer told()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0
	}
	defer conn.Close(context.Background())
	for n := 0; ; {
		if n >= enough {
			told()
		}
		var v int64
		err := conn.QueryRow(ctx, asked[n%len(asked)], 1940+n%50).Scan(&v)
		switch {
		case err == nil:
			n++
		case ctx.Err() != nil || conn.IsClosed(): // else a machine that is slow refused a statement
			return n
		}
	}
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}
