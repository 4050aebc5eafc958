package proxy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestChangesSayWhatWorks has statements that would change protected tables, or keep rows of them: the hint ends with a statement that is
// answered. A table of the analyst's own that has the name of a protected one is theirs.
func TestChangesSayWhatWorks(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	must(t, ana, "CREATE TEMP TABLE copies (id int, cost int)")
	for sql, code := range map[string]string{
		"DELETE FROM visits WHERE cost > 100":                                   "42501",
		"UPDATE visits SET cost = 0":                                            "42501",
		"INSERT INTO copies SELECT patient_id, cost FROM visits WHERE cost > 1": "PB002",
	} {
		_, err := ana.Exec(t.Context(), sql)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.Code != code {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		_, try, found := strings.Cut(refused.Hint, "Try: ")
		if !found {
			t.Errorf("%s: the hint is %q", sql, refused.Hint)
			continue
		}
		must(t, ana, strings.TrimSuffix(try, "."))
	}
	must(t, ana, "CREATE TEMP TABLE visits (cost int)")
	must(t, ana, "DELETE FROM visits WHERE cost > 100")
}
