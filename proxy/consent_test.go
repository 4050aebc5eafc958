package proxy_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// spender asks in one session, and knows which steps its statements have come to.
type spender struct {
	*testing.T
	*world
	*pgx.Conn

	mu    sync.Mutex
	steps map[string]bool
}

// newSpender returns one over a world that remembers answers, with dp.spend as it says.
func newSpender(t *testing.T, spend string, limits ...accountant.Limit) *spender {
	t.Helper()
	store, err := answers.OpenFiles(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	s := &spender{T: t, steps: map[string]bool{}}
	s.world = newWorldWith(t, func(cfg *proxy.Config) {
		cfg.Defaults.EpsilonPico = dp.PicoPerUnit
		cfg.Answers = proxy.Answers{Store: store, Version: oneVersion("1"), Epoch: func() string { return "1" }}
	}, limits...)
	s.proxy.Trace(func(name string, _, _ bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.steps[name] = true
	})
	s.Conn = connect(t, s.url("ana"))
	must(t, s.Conn, "SET dp.spend = "+spend)
	return s
}

// ask runs a statement, and returns the code of its refusal, with the message, and the price that it has paid.
func (s *spender) ask(sql string, args ...any) (code, message string, price int64) {
	s.Helper()
	before := s.spent(s.T, accountant.UnitScope, "patient")
	clear(s.steps)
	var err error
	if len(args) > 0 || !strings.Contains(sql, ";") && !strings.HasPrefix(sql, "COPY") {
		_, err = s.Exec(s.Context(), sql, args...)
	} else {
		_, err = s.PgConn().Exec(s.Context(), sql).ReadAll()
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		code, message = refused.Code, refused.Message
	} else if err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return code, message, s.spent(s.T, accountant.UnitScope, "patient") - before
}

// refused holds that a statement is refused with its price, before anything is read or charged.
func (s *spender) refused(want, sql string, args ...any) {
	s.Helper()
	code, message, price := s.ask(sql, args...)
	if code != "PB018" || price != 0 || !strings.Contains(message, want) || s.steps["open"] || s.steps["reserve"] {
		s.Errorf("%s %v: %s: %s; paid %d; steps %v", sql, args, code, message, price, s.steps)
	}
}

// runs holds that a statement is answered, for a price or for nothing.
func (s *spender) runs(costs bool, sql string, args ...any) {
	s.Helper()
	if code, message, price := s.ask(sql, args...); code != "" || price > 0 != costs {
		s.Errorf("%s %v: %s: %s; paid %d", sql, args, code, message, price)
	}
}

// TestConfirmed holds that with dp.spend = confirmed a statement costs nothing before its price was shown, in every protocol
// and form, and that it then costs once.
func TestConfirmed(t *testing.T) {
	s := newSpender(t, "confirmed")
	const again = "run it again to spend that"
	const count = "SELECT count(*) FROM patients"
	s.refused("the statement costs less than 0.01 % of the budget of unit patient (which would leave about 17,999 such questions): "+
		again, count)
	s.runs(true, count)
	s.runs(false, count) // it is remembered

	const sexes = "SELECT sex, count(*) FROM patients GROUP BY sex"
	s.runs(false, "EXPLAIN "+sexes)
	must(t, s.Conn, "SET dp.epsilon = 2")
	s.refused(again, sexes) // its price is another one than was shown
	s.runs(true, sexes)
	must(t, s.Conn, "RESET dp.epsilon")
	s.runs(false, "SELECT * FROM dp.plan($$"+sexes+"$$)")
	s.runs(true, sexes)

	const born = "SELECT count(*) FROM patients WHERE birth_year > $1"
	s.refused(again, born, 1950)
	s.refused(again, born, 1960)
	s.runs(true, born, 1950)
	s.runs(false, born, 1950)
	s.runs(true, born, 1960)

	s.runs(false, "/* dp: epsilon=0.25 */ "+count) // it is remembered, more precisely
	s.runs(true, "/* dp: spend=always */ SELECT count(*) FROM patients WHERE sex = 'x'")
	s.refused(again, "/* by a tool */ SELECT count(*) FROM patients WHERE sex = 'f'")

	for _, sql := range []string{
		"COPY (SELECT count(*) FROM visits) TO STDOUT",
		"CREATE TEMP TABLE kept AS SELECT count(*) FROM visits WHERE cost > 1",
		"BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM visits WHERE cost > 2; FETCH ALL FROM c; COMMIT",
		"SELECT 1; SELECT count(*) FROM visits WHERE cost > 3",
		"WITH x AS (SELECT count(*) AS n FROM visits WHERE cost > 4) SELECT n + 1 FROM x",
	} {
		s.refused(again, sql)
		if _, err := s.PgConn().Exec(t.Context(), "ROLLBACK").ReadAll(); err != nil {
			t.Fatal(err)
		}
		s.runs(true, sql)
	}
	must(t, s.Conn, "PREPARE p (int) AS SELECT count(*) FROM visits WHERE hospital_id = $1")
	s.refused(again, "EXECUTE p (1)")
	s.runs(true, "EXECUTE p (1)")
	s.runs(false, "EXPLAIN EXECUTE p (2)")
	s.runs(true, "EXECUTE p (2)")
	s.refused(again, "EXECUTE p (3)")
	s.runs(true, "CREATE TEMP TABLE more AS EXECUTE p (3)")

	other := &spender{T: t, world: s.world, Conn: connect(t, s.url("ana")), steps: s.steps}
	must(t, other.Conn, "SET dp.spend = confirmed")
	const smokers = "SELECT count(*) FROM patients WHERE smoker"
	s.refused(again, smokers)
	other.runs(true, smokers) // a pool's sessions are one analyst's

	must(t, s.Conn, "SET dp.spend = always")
	s.runs(true, "SELECT count(*) FROM labs")
}

// TestNeverSpending holds that with dp.spend = never only what is free is answered, and that a budget's end
// is told before its price.
func TestNeverSpending(t *testing.T) {
	s := newSpender(t, "never", limit(t, accountant.UnitScope, "patient", dp.ZCDP, 700))
	const count = "SELECT count(*) FROM patients"
	for range 2 {
		s.refused("would cost 72 % of the budget of unit patient (which would leave no such question), "+
			"and dp.spend = never answers only what is free", count)
	}
	s.runs(false, "EXPLAIN "+count)
	s.refused("dp.spend = never", count)
	s.refused("dp.spend = never", "/* dp: epsilon=0.5 */ "+count)
	s.runs(true, "/* dp: spend=always */ "+count)
	s.runs(false, count)
	s.runs(false, "SELECT name FROM hospitals")
	s.refused("71 % of the budget of unit patient, of which 29 % is left", "SELECT count(*) FROM visits")
	must(t, s.Conn, "SET dp.spend = confirmed")
	if code, message, price := s.ask("SELECT count(*) FROM visits"); code != "PB001" || price != 0 {
		t.Errorf("%s: %s; paid %d", code, message, price)
	}
}
