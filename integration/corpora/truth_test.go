package corpora_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// deviations is how far from the truth a value may be. An error is stated at 95 %.
const deviations = 6 / 1.96

// A verdict is how an answer compares with the truth.
type verdict struct {
	title                          string
	within, outside, unknown, null int // values
	more                           int // rows that the truth does not have
	worst                          string
	took                           time.Duration // to answer it
}

// A table is a result with the errors of its values.
type table struct {
	rows   map[string][]cell // by the values of the columns that are exact
	order  []string
	errors map[string]bool // the columns that have an error
}

// A cell is a value and its error, NaN where one is not known.
type cell struct {
	column       string
	value, error float64
}

// compare asks a statement, if that is asked for, and the protected database for the truth about it.
func (p *player) compare(t *testing.T, title, sql string) {
	t.Helper()
	if *people == 0 || !strings.HasPrefix(strings.ToUpper(sql), "SELECT") && !strings.HasPrefix(strings.ToUpper(sql), "WITH") {
		return
	}
	start := time.Now()
	ours, err := p.read(t, p.ours, sql, nil)
	took := time.Since(start)
	if err != nil {
		t.Errorf("%s\nis planned and refused: %v", sql, err)
		return
	}
	truth, err := p.read(t, p.truth, sql, ours.errors)
	if err != nil {
		t.Errorf("%s\nis no statement of the database: %v", sql, err)
		return
	}
	v := verdict{title: title, took: took}
	for _, key := range ours.order {
		exact, known := truth.rows[key]
		if !known {
			v.more++
		}
		for i, c := range ours.rows[key] {
			want := 0.0 // of a group without rows
			if known {
				want = exact[i].value
			}
			v.see(key, c, want)
		}
	}
	p.verdicts = append(p.verdicts, v)
}

// see judges a value.
func (v *verdict) see(key string, c cell, truth float64) {
	switch off := math.Abs(c.value - truth); {
	case math.IsNaN(c.value):
		v.null++
	case math.IsNaN(c.error) || math.IsInf(c.error, 1):
		v.unknown++
	case off <= deviations*c.error+1e-9:
		v.within++
	default:
		v.outside++
		v.worst = fmt.Sprintf("%s %s = %g ± %g, in truth %g", key, c.column, c.value, c.error, truth)
	}
}

// read reads a result. The columns of values are those that have an error, by their names.
func (p *player) read(t *testing.T, conn *pgx.Conn, sql string, values map[string]bool) (table, error) {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return table{}, err
	}
	r := results[len(results)-1]
	tab := table{rows: map[string][]cell{}, errors: map[string]bool{}}
	errorOf := map[string]int{}
	for i, f := range r.FieldDescriptions {
		if of, ok := strings.CutSuffix(f.Name, "_error"); ok && values == nil {
			errorOf[of], tab.errors[of] = i, true
		}
	}
	if values == nil {
		values = tab.errors
	}
	for _, row := range r.Rows {
		var key []string
		var cells []cell
		for i, f := range r.FieldDescriptions {
			switch e, has := errorOf[f.Name]; {
			case has && e > i:
				cells = append(cells, cell{f.Name, number(row[i]), number(row[e])})
			case values[f.Name] && !has:
				cells = append(cells, cell{f.Name, number(row[i]), math.NaN()})
			case !strings.HasSuffix(f.Name, "_error") || !tab.errors[strings.TrimSuffix(f.Name, "_error")]:
				key = append(key, string(row[i]))
			}
		}
		name := strings.Join(key, ", ")
		for _, again := tab.rows[name]; again; _, again = tab.rows[name] {
			name += "'"
		}
		tab.rows[name], tab.order = cells, append(tab.order, name)
	}
	return tab, nil
}

var booleans = map[string]float64{"t": 1, "f": 0}

// number reads a number, an array's first one, or a time in days; NaN is anything else.
func number(raw []byte) float64 {
	first, _, _ := strings.Cut(strings.Trim(string(raw), "{}"), ",")
	if x, err := strconv.ParseFloat(first, 64); err == nil {
		return x
	}
	if x, ok := booleans[string(raw)]; ok {
		return x
	}
	return math.NaN()
}

var made = regexp.MustCompile(`^CREATE TEMP TABLE (?:IF NOT EXISTS )?(\S+) AS`)

// copy gives the protected database the rows of a temporary table of released values.
func (p *player) copy(t *testing.T, sql string) {
	t.Helper()
	m := made.FindStringSubmatch(sql)
	if m == nil || *people == 0 {
		return
	}
	rows, err := p.ours.PgConn().Exec(t.Context(), "SELECT * FROM "+m[1]).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	if err := p.ours.QueryRow(t.Context(), "SELECT array_agg(format_type(atttypid, atttypmod) ORDER BY attnum) FROM pg_attribute "+
		"WHERE attrelid = $1::regclass AND attnum > 0", m[1]).Scan(&types); err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, f := range rows[0].FieldDescriptions {
		list = append(list, fmt.Sprintf("%s::%s AS %s", literal(rows[0].Rows[0][i]), types[i], f.Name))
	}
	sitetest.Exec(t, p.truth, "DROP TABLE IF EXISTS "+m[1])
	sitetest.Exec(t, p.truth, "CREATE TEMP TABLE "+m[1]+" AS SELECT "+strings.Join(list, ", "))
}

func literal(raw []byte) string {
	if raw == nil {
		return "NULL"
	}
	return "'" + strings.ReplaceAll(string(raw), "'", "''") + "'"
}

// listed are answers that may differ from the truth by more than they say, each with the reason.
var listed = map[string]string{
	"looker pivot":              "rows are told apart by ranks, which noise decides",
	"tableau top":               "noise decides which products are among the first ten",
	"superset series":           "noise decides which products are among the first five",
	"star profit":               "noise decides which of the rows of a manager are shown",
	"forms distribution_groups": "groups without rows, which the truth leaves out, have the total of those before them",
	"metabase cumulative":       "groups without rows, which the truth leaves out, have the total of those before them",
	"grafana hours":             "rows without a user belong to nobody, as the notice says first",
	"grafana conversion":        "rows without a user belong to nobody, as the notice says first",
	"Try of grafana points":     "rows without a user belong to nobody, as the notice says first",
}

// tell prints the verdicts. Values that are farther from the truth than they may be are listed.
func (p *player) tell(t *testing.T) {
	t.Helper()
	for _, v := range p.verdicts {
		t.Logf("%s: %d within, %d outside, %d of unknown error, %d NULL, %d rows too many, in %v. %s",
			v.title, v.within, v.outside, v.unknown, v.null, v.more, v.took.Round(time.Millisecond), v.worst)
		if v.outside > 0 && listed[v.title] == "" {
			t.Errorf("%s: %s", v.title, v.worst)
		}
	}
}
