package proxy_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/proxy"
)

// asked are statements whose errors have formulas, and others that are replayed. Of each a column is named.
var asked = []struct{ sql, column string }{
	{"SELECT count(*) AS n FROM patients", "n"},
	{"SELECT sex, count(*) AS n FROM patients GROUP BY sex ORDER BY sex", "n"},
	{"SELECT avg(birth_year) AS born FROM patients", "born"},
	{"SELECT round(avg(birth_year), 1) AS born FROM patients", "born"},
	{"SELECT smoker, round(n, -2) AS v FROM " + groups, "v"},
	{"SELECT g.smoker, g.n FROM " + groups + " JOIN (VALUES (true)) AS t (smoker) ON t.smoker = g.smoker", "n"},
	{"SELECT * FROM (SELECT sex, count(*) AS n FROM patients GROUP BY sex) q ORDER BY 1", "n"},
	{
		"SELECT * FROM (SELECT 'women' AS who, count(*) AS n FROM patients WHERE sex = 'f' UNION ALL " +
			"SELECT 'men', count(*) FROM patients WHERE sex = 'm') u",
		"n",
	},
	{"SELECT sum(n) AS total FROM " + groups, "total"},
	{"SELECT 100.0 * count(*) FILTER (WHERE smoker) / count(*) AS share FROM patients", "share"},
	{"SELECT smoker, 100.0 * n / sum(n) OVER () AS share FROM " + groups + " ORDER BY smoker", "share"},
	{"SELECT smoker, sum(n) OVER (ORDER BY smoker) AS run FROM " + groups + " ORDER BY smoker", "run"},
	{
		"SELECT a.n - b.n AS apart FROM (SELECT count(*) AS n FROM patients WHERE sex = 'f') a, (SELECT count(*) AS n FROM patients) b",
		"apart",
	},
	{"WITH g AS (SELECT mood, count(*) AS n FROM patients GROUP BY mood) SELECT sum(n) / 3 AS mean FROM g", "mean"},
	{"SELECT count(*)::float8 AS n FROM visits", "n"},
	{"SELECT sum(n) AS visits FROM (SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis) v", "visits"},
}

// told finds the errors of a column in a brief notice: the smallest and the largest distance from the farther end of an interval.
func told(t *testing.T, notice, column string) (least, most float64) {
	t.Helper()
	const number = `([\d.,]+)`
	const even, uneven = "± " + number + `( %)?(?: to ` + number + ")?", `\(- ` + number + ` / \+ ` + number + `\)`
	m := regexp.MustCompile("(?:^|; )" + column + " (?:" + even + "|" + uneven + ")").FindStringSubmatch(notice)
	if m == nil || m[2] != "" {
		t.Fatalf("no error of %s in %q", column, notice)
	}
	read := func(text string) float64 {
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			return math.Inf(-1)
		}
		return f
	}
	if m[4] != "" {
		most = max(read(m[4]), read(m[5]))
		return most, most
	}
	least = read(m[1])
	return least, max(least, read(m[3]))
}

// TestSameErrorsEverywhere asks the same statements with columns of errors and of intervals, in both protocols: notice, dp.last, x_error,
// and the ends x_lower and x_upper tell the same, and a probe describes the columns that the answer has.
func TestSameErrorsEverywhere(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana, said := noticesOf(t, w)
	must(t, ana, "SET dp.notice = brief; SET dp.contribution = auto; SET dp.epsilon = 2")
	for _, extended := range []bool{false, true} {
		for _, c := range asked {
			must(t, ana, "SET dp.columns = intervals")
			*said = nil
			v := numbersNamed(t, ana, c.sql, extended)
			notice := (*said)[0]
			least, most := math.Inf(1), 0.0
			for i, value := range v[c.column] {
				half, low, high := v[c.column+"_error"][i], v[c.column+"_lower"][i], v[c.column+"_upper"][i]
				if far := max(value-low, high-value); !(far >= half*(1-1e-9)-1e-9 && far <= half*(1+1e-9)+1e-9) {
					t.Errorf("%s: %v from %v to %v is not ± %v", c.sql, value, low, high, half)
				}
				if sigma := v[c.column+"_stderr"][i]; !(sigma >= 0 && sigma < half) {
					t.Errorf("%s: ± %v has a standard error of %v", c.sql, half, sigma)
				}
				least, most = min(least, half), max(most, half)
			}
			if a, b := told(t, notice, c.column); least > a+1e-9 || most > b+1e-9 || least < 0.9*a || most < 0.9*b {
				t.Errorf("%s: from %v to %v, and the notice is %q", c.sql, least, most, notice)
			}
			for _, from := range []string{"dp.last", "dp.history ORDER BY number DESC LIMIT 1"} {
				var last string
				if err := ana.QueryRow(t.Context(), "SELECT error FROM "+from).Scan(&last); err != nil {
					t.Fatal(err)
				}
				if errors, _, _ := strings.Cut(notice, "; cost"); last != errors {
					t.Errorf("%s: %s has %q, the notice %q", c.sql, from, last, notice)
				}
			}
			must(t, ana, "SET dp.columns = errors")
			if again := numbersNamed(t, ana, c.sql, extended)[c.column+"_error"]; fmt.Sprint(again) != fmt.Sprint(v[c.column+"_error"]) {
				t.Errorf("%s: %v, and with intervals %v", c.sql, again, v[c.column+"_error"])
			}
		}
	}
}

// numbersNamed asks for numbers by the names of their columns. Other values are NaN. A probe of the same statement must have the columns
// that it has.
func numbersNamed(t *testing.T, ana *pgx.Conn, sql string, extended bool) map[string][]float64 {
	t.Helper()
	want, rows := texts(t, ana, sql, extended)
	if got := described(t, ana, "SELECT * FROM ("+sql+") probe LIMIT 0", extended); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has the columns %v, its probe %v", sql, want, got)
	}
	values := map[string][]float64{}
	for _, row := range rows {
		for i, text := range row {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				f = math.NaN()
			}
			values[want[i]] = append(values[want[i]], f)
		}
	}
	return values
}

// described names the columns of a statement without rows.
func described(t *testing.T, ana *pgx.Conn, sql string, extended bool) (names []string) {
	t.Helper()
	mode := pgx.QueryExecModeSimpleProtocol
	if extended {
		mode = pgx.QueryExecModeDescribeExec
	}
	rows, err := ana.Query(t.Context(), sql, mode)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	rows.Close()
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	for _, f := range rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

// texts asks for the names of the columns, and for all values as texts.
func texts(t *testing.T, ana *pgx.Conn, sql string, extended bool) (names []string, rows [][]string) {
	t.Helper()
	var r *pgconn.Result
	if extended {
		r = ana.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	} else {
		all, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		r = all[len(all)-1]
	}
	if r.Err != nil {
		t.Fatalf("%s: %v", sql, r.Err)
	}
	for _, f := range r.FieldDescriptions {
		names = append(names, f.Name)
	}
	for _, row := range r.Rows {
		var values []string
		for _, v := range row {
			values = append(values, string(v))
		}
		rows = append(rows, values)
	}
	return names, rows
}

// TestRoundedColumns has values that are rounded to the digits that their errors support, with these errors in words beside them: they are
// those of the statement without rounding, and as much larger as rounding moves the value.
func TestRoundedColumns(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana, _ := noticesOf(t, w)
	must(t, ana, "SET dp.contribution = auto; SET dp.epsilon = 0.5")
	for _, extended := range []bool{false, true} {
		for _, c := range asked {
			must(t, ana, "SET dp.columns = errors")
			v := numbersNamed(t, ana, c.sql, extended)
			must(t, ana, "SET dp.columns = rounded")
			names, rows := texts(t, ana, c.sql, extended)
			value, said := slices.Index(names, c.column), slices.Index(names, c.column+"_error")
			if value < 0 || said < 0 {
				t.Fatalf("%s has the columns %v", c.sql, names)
			}
			for i, row := range rows {
				shown, err := strconv.ParseFloat(row[value], 64)
				half, err2 := strconv.ParseFloat(strings.TrimPrefix(row[said], "± "), 64)
				exact, error := v[c.column][i], v[c.column+"_error"][i]
				moved := math.Abs(shown - exact)
				if err != nil || err2 != nil || moved > 0.06*error || half < (error+moved)*(1-1e-9) || half > 1.2*error+moved {
					t.Errorf("%s: %v ± %v is shown as %q, %q", c.sql, exact, error, row[value], row[said])
				}
				if digits := strings.Trim(row[said], "± 0."); len(strings.ReplaceAll(digits, ".", "")) > 2 {
					t.Errorf("%s: %q", c.sql, row[said])
				}
			}
		}
		for sql, want := range map[string]string{
			"SELECT max(n) AS most FROM " + groups: "unknown", "SELECT sum(n - n) AS none FROM " + groups: "± 0",
			"SELECT smoker, mode() WITHIN GROUP (ORDER BY sex) AS word FROM patients WHERE smoker GROUP BY smoker": "unknown",
		} {
			if _, rows := texts(t, ana, sql, extended); len(rows) != 1 || rows[0][len(rows[0])-1] != want {
				t.Errorf("%s: %v, want %q", sql, rows, want)
			}
		}
	}
}

// TestErrorColumnsOfOneName has two columns of one name, of which one has noise; errors that are too large for their digits; and rows that
// nothing tells apart.
func TestErrorColumnsOfOneName(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana, _ := noticesOf(t, w)
	must(t, ana, "SET dp.columns = rounded")
	for sql, want := range map[string]string{
		"b FROM (SELECT bool_or(smoker) AS b FROM patients) g JOIN (VALUES (1)) v (i) ON true": `^t unknown$`,
		"7, count(*) * 10 FROM patients":                   `^7 \d+0 ± \d+$`,
		"77777 AS x, count(*) AS x FROM patients":          `^77777 \d+ (unknown|± \d+)$`,
		"count(*) AS x, count(*) + 1 AS x FROM patients":   `^\d+ \d+ unknown$`,
		"count(*) * 1e40::float8 AS x FROM patients":       `^[0-9.]+e\+4\d ± \d+$`,
		"count(*) * 1e300::float8 AS x FROM patients":      `^[0-9.]+e\+30\d ± \d+$`,
		"round(avg(birth_year), -400) AS x FROM patients":  `^0 (unknown|± [0-9.]+)$`,
		"n * 1.0 AS x FROM " + groups + " ORDER BY smoker": `^[0-9.]+ (unknown|± \d{1,3}(\.\d)?)$`,
	} {
		_, rows := texts(t, ana, "SELECT "+sql, true)
		if len(rows) == 0 || !regexp.MustCompile(want).MatchString(strings.Join(rows[0], " ")) {
			t.Errorf("%s: %q", sql, rows)
		}
	}
}
