package proxy_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestAge holds that dp.max_age has releases of former epochs answer, if none is older, each statement of one epoch alone, and that the
// notice and dp.last say as of when. Without it each epoch pays.
func TestAge(t *testing.T) {
	store, err := answers.OpenFiles(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var epoch atomic.Value
	var hours atomic.Int64
	begin := time.Date(2024, 5, 6, 7, 0, 0, 0, time.UTC)
	w := newWorldWith(t, func(cfg *proxy.Config) {
		cfg.Defaults.EpsilonPico = dp.PicoPerUnit
		cfg.Answers = proxy.Answers{Store: store, Version: oneVersion("1"), Epoch: func() string { return epoch.Load().(string) }}
		cfg.Now = func() time.Time { return begin.Add(time.Duration(hours.Load()) * time.Hour) }
	})
	conn, notices := brieflyTold(t, w)
	ask := func(at int64, in, sql string, costs bool, said string) (answer string) {
		t.Helper()
		epoch.Store(in)
		hours.Store(at)
		*notices = nil
		before := w.spent(t, accountant.UnitScope, "patient")
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if paid := w.spent(t, accountant.UnitScope, "patient") - before; paid > 0 != costs {
			t.Errorf("at %d in %s %s costs %d", at, in, sql, paid)
		}
		if all := strings.Join(*notices, "\n"); !strings.Contains(all, said) || said == "" && strings.Contains(all, "as of") {
			t.Errorf("at %d in %s %s says %q, not %q", at, in, sql, all, said)
		}
		for _, row := range results[len(results)-1].Rows {
			answer += string(row[0])
		}
		return answer
	}
	const (
		day   = "/* dp: max_age=1d */ "
		week  = "/* dp: max_age=7d */ "
		count = "SELECT count(*) FROM patients"
		both  = "SELECT count(*), sum(birth_year) FROM patients"
	)
	first := ask(0, "a", count, true, "")
	for _, c := range []struct {
		at       int64
		in, sql  string
		costs    bool
		said     string
		isFirst  bool
		compared bool
	}{
		{1, "a", day + count, false, "", true, true},
		{20, "b", day + count, false, "as of 2024-05-06 07:00 UTC", true, true},
		{20, "b", day + both, true, "", false, false},                           // nothing is mixed
		{21, "b", day + count, false, "as of 2024-05-06 07:00 UTC", true, true}, // that of b is less precise
		{22, "b", count, true, "", false, false},
		{23, "b", day + count, false, "", false, false},
		{30, "c", day + count, false, "as of 2024-05-07 05:00 UTC", false, false},
		{50, "d", week + both, false, "as of 2024-05-07 03:00 UTC", false, false},
		{50, "d", day + both, true, "", false, false},
		{200, "e", week + count, true, "", false, false},
		{300, "f", week + count, false, "as of 2024-05-14 15:00 UTC", false, false},
		{400, "g", week + count, true, "", false, false},
		{401, "g", "/* dp: max_age=epoch */ " + both, true, "", false, false},
	} {
		if got := ask(c.at, c.in, c.sql, c.costs, c.said); c.compared && (got == first) != c.isFirst {
			t.Errorf("at %d in %s %s is %s, the first was %s", c.at, c.in, c.sql, got, first)
		}
	}
	ask(402, "h", week+count, false, "as of 2024-05-22 23:00 UTC")
	if got := ask(402, "h", "SELECT remark FROM dp.last", false, ""); got != "as of 2024-05-22 23:00 UTC" {
		t.Errorf("dp.last says %q", got)
	}
	const uses = "SELECT count(*) FROM patients WHERE birth_year > (SELECT count(*) + 1000 FROM patients)"
	ask(403, "h", week+uses, true, "") // nor are those that the statement uses
	ask(404, "i", week+uses, false, "as of 2024-05-23 02:00 UTC")
	ask(405, "j", uses, true, "")
	const target = "SELECT count(*) FROM patients WHERE birth_year > 1930"
	ask(406, "j", "/* dp: refine=on, relative_error=0.2 */ "+target, true, "")
	ask(407, "k", "/* dp: refine=on, relative_error=0.2, max_age=7d */ "+target, false, "as of 2024-05-23 05:00 UTC")
	ask(407, "k", "/* dp: refine=on, relative_error=0.01, max_age=7d */ "+target, true, "") // no read goes on from another epoch
}
