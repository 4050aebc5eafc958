package proxy_test

import (
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// TestFitting holds that the refusal of a statement that budgets have no room for names the setting with which it is answered,
// in its message, with the error that it has then; and none where nothing is left.
func TestFitting(t *testing.T) {
	for _, c := range []struct {
		measure dp.Measure
		milli   int64
		set     string
		want    string
	}{
		{dp.ZCDP, 5, "SET dp.refine = on", `SET dp\.epsilon = 0\.(1|099|098)\b`},
		{dp.PureDP, 500, "SET dp.refine = on", `SET dp\.epsilon = 0\.(5|49)\b`},
		{dp.ZCDP, 5, "SET dp.max_epsilon = 20; SET dp.error = 3; SET dp.mechanism = laplace_reduction", `SET dp\.max_epsilon = 0\.[0-9]+`},
		{dp.ZCDP, 355_000, "SET dp.epsilon = 1000; SET dp.mechanism = laplace", `SET dp\.epsilon = [23][0-9]0\b`},
	} {
		w := newWorld(t, limit(t, accountant.UnitScope, "patient", c.measure, c.milli))
		ana := w.client(t, "ana")
		var looks atomic.Int64
		w.proxy.Trace(func(name string, _, _ bool) {
			if name == "recall" {
				looks.Add(1)
			}
		})
		ask := func(set string) *pgconn.PgError {
			t.Helper()
			if _, err := ana.PgConn().Exec(t.Context(), set).ReadAll(); err != nil {
				t.Fatal(err)
			}
			_, err := ana.Exec(t.Context(), "SELECT sex, count(*) FROM patients GROUP BY sex")
			refused, _ := errors.AsType[*pgconn.PgError](err)
			return refused
		}
		refused := ask(c.set)
		if refused == nil || refused.Code != "PB001" {
			t.Fatalf("%s: %v", c.set, refused)
		}
		const most = 8 // the statement's own, one for the price, and some amounts
		if n := looks.Load(); n > most {
			t.Errorf("%s: %d plans were looked up for a refusal", c.set, n)
		}
		named := regexp.MustCompile(c.want).FindString(refused.Message)
		stated := regexp.MustCompile(`the error is: count\(\*\) ± [0-9]+`).MatchString(refused.Detail)
		if strings.Contains(refused.Message, "exhausted") || !strings.Contains(refused.Detail, "The least is left of unit patient: ") {
			t.Errorf("%s: %s; %s", c.set, refused.Message, refused.Detail)
		}
		if named == "" || stated != strings.Contains(named, "dp.epsilon") {
			t.Errorf("%s: %s; %s; %s", c.set, refused.Message, refused.Detail, refused.Hint)
			continue
		}
		if w.spent(t, "unit", "patient") != 0 {
			t.Error("it costs to be refused")
		}
		if refused := ask(named); refused != nil {
			t.Errorf("%s: %v", named, refused)
		}
	}
}

// TestUnpriced holds that a statement whose price is beyond all numbers is told what fits as well.
func TestUnpriced(t *testing.T) {
	w := newWorld(t, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 355_000))
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET dp.mechanism = gaussian; SET dp.contribution = auto; SET dp.epsilon = 1000")
	_, err := ana.Exec(t.Context(), "SELECT avg(cost) FROM visits")
	refused, _ := errors.AsType[*pgconn.PgError](err)
	if refused == nil || refused.Code != "PB001" ||
		!regexp.MustCompile(`^privacy budget of unit "patient" has no room for the statement: SET dp\.epsilon = 2[0-9] still fits$`).
			MatchString(refused.Message) {
		t.Fatal(err)
	}
	if w.spent(t, "unit", "patient") != 0 {
		t.Error("it costs to be refused")
	}
	must(t, ana, regexp.MustCompile(`SET dp\.epsilon = [0-9]+`).FindString(refused.Message))
	must(t, ana, "SELECT avg(cost) FROM visits")
}
