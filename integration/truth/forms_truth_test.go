package truth_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// topOf matches the end of a question that shows the first of its rows. Its truth has all of them: which are the first hangs on noise.
var topOf = regexp.MustCompile(`(?is)\s+LIMIT\s+\d+\s*$`)

// printFormVerdicts asks the questions of [TestForms] with the errors that dpproxy states, and compares the answers with those of Postgres.
// It fails if too few cells with an error have the truth within. Errors leave out what noise in another
// value moves (tiles, thresholds, the first of many), and notices say so: such questions are counted like all others.
func printFormVerdicts(t *testing.T) {
	s := formsSite(t)
	ours := s.ours[0]
	for _, setting := range []string{"dp.columns = errors", "dp.epsilon = 1"} {
		if _, err := ours.Exec(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
	}
	all, asked := &score{outcomes: map[string]int{}}, 0
	var table, notices strings.Builder
	for _, domain := range []string{"clinic", "shop", "university"} {
		for _, f := range formsOf(t, domain) {
			if f.outcome != answered || !regexp.MustCompile(*only).MatchString(f.name) {
				continue
			}
			line := newQuestionLine()
			for range *rounds {
				ours.notices = nil
				v := ours.judgeForm(t, s.truth, f)
				all.add(v)
				line.add(v)
			}
			asked++
			fmt.Fprintf(&notices, "%s: %s\n", f.name, strings.Join(ours.notices, "; "))
			table.WriteString(line.write(question{name: f.name}))
		}
	}
	t.Logf("%d questions, asked %d times each, ε = 1, errors at 95 %%\n%v\n\n"+
		"| question | outcomes | cells within | without error, NULL | rows missing, more | worst cell, or refusal |\n"+
		"| --- | --- | --- | --- | --- | --- |\n%s\n%s", asked, *rounds, all, &table, &notices)
	if !covers(all.within, all.cells-all.unstated) {
		t.Errorf("of %d cells with an error, %d are within", all.cells-all.unstated, all.within)
	}
}

// judgeForm asks a question once.
func (s *session) judgeForm(t *testing.T, truth *pgx.Conn, f form) (v verdict) {
	t.Helper()
	answer, names, err := s.askWithErrors(t, f.sql)
	if err != nil {
		v.refusal = err
		return v
	}
	isValue := map[string]bool{}
	for _, name := range names {
		isValue[name] = true
	}
	expected, err := rowsByKey(t, truth, topOf.ReplaceAllString(f.sql, ""), isValue)
	if err != nil {
		t.Fatalf("%s: %v\n%s", f.name, err, f.sql)
	}
	for _, key := range expected.order {
		if answer.rows[key] == nil {
			v.missing++
		}
	}
	for _, key := range answer.order {
		if expected.rows[key] == nil {
			v.more++
			continue
		}
		for i, c := range answer.rows[key] {
			v.see(c, expected.rows[key][i].value, strings.TrimLeft(key+": "+answer.columns[i], ": "))
		}
	}
	return v
}

// errorSuffix ends the names of the columns with errors.
const errorSuffix = "_error"

// askWithErrors runs a statement where dp.columns = errors. The names are those of the columns with errors.
func (s *session) askWithErrors(t *testing.T, sql string) (answer reply, names []string, err error) {
	t.Helper()
	rows, err := s.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return reply{}, nil, err
	}
	defer rows.Close()
	columns := rows.FieldDescriptions()
	at := map[string]int{} // of an error, by the name of its value
	for i, c := range columns {
		if name, ok := strings.CutSuffix(c.Name, errorSuffix); ok {
			at[name] = i
		}
	}
	answer = reply{rows: map[string][]cell{}}
	for _, c := range columns[:len(columns)-len(at)] {
		if _, ok := at[c.Name]; ok {
			names = append(names, c.Name)
		}
	}
	answer.columns = names
	for rows.Next() {
		raw := rows.RawValues()
		var key []string
		var cells []cell
		for i := range len(columns) - len(at) {
			if far, ok := at[columns[i].Name]; ok {
				x, e := number(raw[i]), number(raw[far])
				cells = append(cells, cell{x, x - e, x + e})
			} else {
				key = append(key, string(raw[i]))
			}
		}
		answer.add(strings.Join(key, ", "), cells)
	}
	return answer, names, rows.Err()
}

// rowsByKey runs a statement on the protected database.
func rowsByKey(t *testing.T, conn *pgx.Conn, sql string, isValue map[string]bool) (reply, error) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return reply{}, err
	}
	defer rows.Close()
	r := reply{rows: map[string][]cell{}}
	columns := rows.FieldDescriptions()
	for rows.Next() {
		var key []string
		var cells []cell
		for i, raw := range rows.RawValues() {
			if isValue[columns[i].Name] {
				cells = append(cells, cell{value: number(raw)})
			} else {
				key = append(key, string(raw))
			}
		}
		r.add(strings.Join(key, ", "), cells)
	}
	return r, rows.Err()
}
