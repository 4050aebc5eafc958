package attacks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestAnswerRecipes are attacks on answers that are remembered.
func TestAnswerRecipes(t *testing.T) {
	t.Parallel()
	cook(t, kitchenPolicy("answers: {epoch: first}"), []recipe{
		{"J2", "the time of a hit", testHitTime},
		{"J3", "a prepared statement with another parameter", testOtherParameter},
		{"J4", "the session's state is another", testOtherSession},
		{"J5", "the same with a larger epsilon", testLargerEpsilon},
		{"J6", "an analyst without the table", testStranger},
		{"J7", "parts of a whole", testParts},
		{"J1", "the data change behind an answer", testChangedData}, // last: it starts dpproxy anew
	})
}

// Within an epoch the answer is the old one to the last digit; so noise never meets
// other data. In another epoch it is drawn and charged anew.
func testChangedData(t *testing.T, k *kitchen) {
	const sql = "SELECT count(*), sum(birth_year) FROM patients WHERE sex = 'f'"
	ana := k.dial(t, "ana")
	first := sitetest.Rows(t, ana, sql)
	sitetest.Exec(t, sitetest.Dial(t, k.Data.URL("postgres", pgtemp.Superuser)),
		"DELETE FROM labs WHERE visit_id = 1; DELETE FROM visits WHERE id = 1; UPDATE patients SET sex = 'm' WHERE id % 3 = 0")
	k.charged(t, 0, func() {
		if again := sitetest.Rows(t, ana, sql); again != first {
			t.Errorf("after an update: %s, before: %s", again, first)
		}
	})
	k.r.Stop()
	k.Edit(t, "epoch: first", "epoch: second")
	k.r = k.Run(t)
	ana = k.dial(t, "ana")
	k.charged(t, 1, func() { sitetest.Rows(t, ana, sql) })
}

// On the reply grid, a remembered answer comes no sooner than one that is read.
func testHitTime(t *testing.T, k *kitchen) {
	s := k.withLedger(t, "reply_grid: 0", "reply_grid: 100ms")
	ana := sitetest.Dial(t, s.Run(t).URL("ana"))
	for i := range 3 {
		begin := time.Now()
		sitetest.Rows(t, ana, sitetest.CountPatients)
		if took := time.Since(begin); took < 100*time.Millisecond {
			t.Errorf("answer %d came after %v", i+1, took)
		}
	}
}

func testOtherParameter(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	const sql = "SELECT count(*) FROM patients WHERE birth_year > $1"
	if _, err := ana.Prepare(t.Context(), "p", sql); err != nil {
		t.Fatal(err)
	}
	k.charged(t, 2, func() {
		sitetest.Rows(t, ana, "p", 1950)
		sitetest.Rows(t, ana, "p", 1951)
	})
	k.charged(t, 0, func() { sitetest.Rows(t, ana, "p", 1950) })
	// Values of another type, and in another format, that mean something else.
	bind := func(value []byte, oid uint32, format int16) *pgconn.Result {
		return ana.PgConn().ExecParams(t.Context(), sql, [][]byte{value}, []uint32{oid}, []int16{format}, nil).Read()
	}
	k.charged(t, 2, func() {
		bind([]byte("1234"), 23, 0)
		bind([]byte("1234"), 23, 1) // 0x31323334
	})
}

func testOtherSession(t *testing.T, k *kitchen) {
	const recent = "SELECT count(*) FROM visits WHERE day > CAST(timestamptz '2020-06-01 23:00:00+00' AS date)"
	ana := k.dial(t, "ana")
	k.charged(t, 1, func() { sitetest.Rows(t, ana, recent) })
	sitetest.Exec(t, ana, "SET TimeZone = 'Pacific/Kiritimati'")
	k.charged(t, 1, func() { sitetest.Rows(t, ana, recent) })
	k.charged(t, 1, func() { sitetest.Rows(t, ana, "SELECT count(*) FROM visits WHERE day = '02/03/2020'") })
	sitetest.Exec(t, ana, "SET DateStyle = 'ISO, DMY'")
	k.charged(t, 1, func() { sitetest.Rows(t, ana, "SELECT count(*) FROM visits WHERE day = '02/03/2020'") })
	sitetest.Exec(t, ana, "CREATE TEMP TABLE visits (day date)")
	k.unread(t, func() {
		n := sitetest.Rows(t, ana, "SELECT count(*) FROM visits WHERE day = '02/03/2020'")
		if n != "0" && n != "\x00\x00\x00\x00\x00\x00\x00\x00" {
			t.Errorf("an own table is answered with %q", n)
		}
	})
}

// A second draw is paid for, so that averaging both gives no more than was paid.
func testLargerEpsilon(t *testing.T, k *kitchen) {
	const sql = "SELECT count(*) FROM patients WHERE birth_year = 1960"
	many := k.dial(t, "many")
	k.charged(t, 2, func() {
		sitetest.Rows(t, many, sql)
		sitetest.Exec(t, many, "SET dp.epsilon = 1")
		sitetest.Rows(t, many, sql)
	})
	k.charged(t, 0, func() { sitetest.Rows(t, many, sql) })
}

func testStranger(t *testing.T, k *kitchen) {
	const sql = "SELECT count(*) FROM patients WHERE birth_year = 1961"
	sitetest.Rows(t, k.dial(t, "ana"), sql)
	stranger := k.dial(t, "stranger")
	k.unread(t, func() {
		_, err := stranger.Exec(t.Context(), sql)
		sitetest.Fails(t, err, "42501", "permission denied")
	})
}

func testParts(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.charged(t, 3, func() {
		for _, where := range []string{"birth_year > 1971", "birth_year <= 1971", "birth_year > 1971 OR birth_year <= 1971"} {
			sitetest.Rows(t, ana, "SELECT count(*) FROM patients WHERE "+where)
		}
	})
	if plan := sitetest.Rows(t, ana, "EXPLAIN "+sitetest.CountPatients); strings.Contains(plan, "at no cost") {
		t.Errorf("the whole is derived from its parts without saying so:\n%s", plan)
	}
}
