package proxy_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/proxy"
)

// brieflyTold connects with the settings that sessions begin with, and collects notices.
func brieflyTold(t *testing.T, w *world) (*pgx.Conn, *[]string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(w.url("ana"))
	if err != nil {
		t.Fatal(err)
	}
	all := new([]string)
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { *all = append(*all, n.Message+n.Detail+n.Hint) }
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, all
}

var (
	evenly   = regexp.MustCompile(`^n ± ([0-9,]+); cost`)
	unevenly = regexp.MustCompile(`^n \(- ([0-9,]+) / \+ ([0-9,]+|unknown)\); cost`)
)

// TestBriefEnds: the interval of a brief notice is that of dp.lower and dp.upper, rounded away from the value, with what limits leave out.
func TestBriefEnds(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	conn, said := brieflyTold(t, w)
	for _, from := range []string{"patients", "visits", "visits WHERE cost > 100", "patients WHERE smoker"} {
		var n, low, high *float64
		*said = nil
		sql := "SELECT count(*)::float8 AS n, dp.lower(count(*)), dp.upper(count(*)) FROM " + from
		err := conn.QueryRow(t.Context(), sql).Scan(&n, &low, &high)
		if err != nil || n == nil || low == nil || len(*said) == 0 {
			t.Fatal(from, err, n, low, *said)
		}
		line := (*said)[0]
		below, above := "", ""
		if m := evenly.FindStringSubmatch(line); m != nil {
			below, above = m[1], m[1]
		} else if m := unevenly.FindStringSubmatch(line); m != nil {
			below, above = m[1], m[2]
		}
		if !rounds(below, *n-*low) || (high == nil) != (above == "unknown") || high != nil && !rounds(above, *high-*n) {
			t.Errorf("%s: %q of %v, low %v, high %v", from, line, *n, *low, high)
		}
	}
}

// rounds reports whether a text is a distance, rounded up to three digits.
func rounds(text string, distance float64) bool {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	return err == nil && f >= distance-1e-6 && f <= 1.06*distance+1
}

// TestBrief has statements of each kind of error and of each that has none, and reads the lines about them.
func TestBrief(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	conn, said := brieflyTold(t, w)
	for _, c := range []struct{ sql, first, second string }{
		{
			"SELECT count(*) FROM patients",
			`^count ± \d+; cost .+ % of the budget of unit patient, about [0-9,]+ such questions left; errors at 95 %$`, "",
		},
		{"SELECT count(*) FROM patients", `^count ± \d+; cost nothing, answered before$`, ""},
		{"SET dp.confidence = 0.9; SELECT count(*) FROM patients", `^count ± \d+; cost nothing, answered before; errors at 90 %$`, ""},
		{"DISCARD ALL", "", ""},
		{"SET dp.notice = brief; SELECT count(*) FROM patients", `^count ± \d+; cost nothing, answered before; errors at 95 %$`, ""},
		{"DISCARD ALL", "", ""},
		{"SELECT count(*) FROM patients", `^count ± \d+; cost nothing, answered before; errors at 95 %$`, ""},
		{
			"SELECT sex, count(*) AS n, avg(birth_year) AS mean FROM patients GROUP BY sex",
			`^n ± \d+; mean ± [0-9.]+ to [0-9.]+; cost`, "^Left out: .*birth_year",
		},
		{"SELECT sum(n) AS total FROM (SELECT smoker, count(*) AS n FROM patients GROUP BY smoker) g", `^total ± \d+; cost`, ""},
		{"SELECT 1 - count(*) AS x FROM patients", `^x ± \d+; cost`, ""},
		{
			"SELECT birth_year, count(*) AS n FROM patients GROUP BY birth_year ORDER BY n DESC LIMIT 3", `^n ± `,
			`^Left out: .*noise is likely to have raised the largest of [0-9]{2,} groups`,
		},
		{
			"SELECT max(n) AS most FROM (SELECT smoker, count(*) AS n FROM patients GROUP BY smoker) g",
			`^most at most \d+, raised by noise by about \d+; cost|^most at most \d+; cost`, "^Left out: groups without rows",
		},
		{
			"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY birth_year) AS median, max(birth_year) FROM patients",
			`^median ± [0-9.]+; max ± [0-9.]+; cost`, "^Left out: birth_year beyond",
		},
		{"SELECT round(max(birth_year), -2) AS century FROM patients", `^century ± 5\d(?:\.\d)?; cost`, "^Left out: birth_year beyond"},
		{"SELECT bool_or(smoker) AS any FROM patients", `^any [a-z ]*± [0-9,.]+; cost`, ""},
		{
			"SELECT * FROM dp.suggest_bounds('labs.value')", `^lower of unknown error; upper of unknown error; clamped `,
			"^Left out: rows of public.labs",
		},
		{
			"SELECT count(*) AS n FROM patients WHERE birth_year > (SELECT avg(birth_year) FROM patients)",
			`^n ± \d+; uses avg ± [0-9.]+; cost`, "^Left out: what the noise of avg moves; ",
		},
		{
			"/* dp: price=loss */ SELECT count(*) AS n FROM patients WHERE birth_year < 1990",
			`^n ± \d+; cost .* % of the budget of unit patient \(ρ=[0-9.e-]+\), about`, "",
		},
		{"SELECT count(*), dp.error(count(*)) FROM patients", `^count ± \d+; cost nothing`, ""},
		{"SET dp.notice = off; SELECT count(*) FROM patients", "", ""},
		{"SET dp.notice = on; SELECT count(*) FROM patients", "^count ± ", ""},
		{"SET dp.notice = full; SELECT count(*) FROM patients", "^count ± .*; cost nothing, answered beforeThe noise moves count", ""},
	} {
		*said = nil
		if _, err := conn.Exec(t.Context(), c.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		lines := append(append([]string{}, *said...), "", "")
		if len(*said) > 2 {
			t.Errorf("%s has %d notices", c.sql, len(*said))
		}
		if !regexp.MustCompile(c.first).MatchString(lines[0]) || c.first == "" && lines[0] != "" ||
			!regexp.MustCompile(c.second).MatchString(lines[1]) || c.second == "" && lines[1] != "" {
			t.Errorf("%s: %s", c.sql, fmt.Sprintf("%q", *said))
		}
	}
}
