package truth_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// TestStar asks what analysts ask of a star schema: dimensions that are joined by expressions on their keys, and public rows in every form
// as constants. With much epsilon each answer is about that of Postgres: the bound is more than six standard deviations of its noise.
func TestStar(t *testing.T) {
	s := starSite(t)
	ours := s.ours[0]
	sitetest.Exec(t, ours.Conn, "SET dp.epsilon = 15")
	for _, conn := range []*pgx.Conn{s.truth, ours.Conn} {
		sitetest.Exec(t, conn, "CREATE TEMP TABLE chosen_stores AS SELECT id, name FROM stores WHERE id % 3 = 1")
		sitetest.Exec(t, conn, "CREATE TEMP TABLE busy AS "+
			"SELECT store_id FROM orders WHERE store_id < 20 GROUP BY store_id HAVING count(*) > 30")
	}
	for _, f := range starQuestions(t) {
		if f.outcome != "" {
			if _, err := cells(t, ours.Conn, f.sql); codeOf(err) != f.outcome {
				t.Errorf("%s: %v\n%s", f.name, err, f.sql)
			}
			continue
		}
		want, err := cells(t, s.truth, f.sql)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		got, err := cells(t, ours.Conn, f.sql)
		if err != nil {
			t.Errorf("%s: %v\n%s", f.name, err, f.sql)
		} else if fault := unlike(got, want); fault != "" {
			t.Errorf("%s: %s\n%s", f.name, fault, f.sql)
		}
	}
	countedTogether(t, ours.Conn)
	countedAnew(t, s.truth, ours.Conn)
	nowhere(t, ours)
}

// nowhere asks for groups of keys that a public table does not have: the answer is known without reading a row.
func nowhere(t *testing.T, ours *session) {
	t.Helper()
	const joined = " FROM orders o JOIN products p ON p.id = o.product_id WHERE "
	for _, sql := range []string{
		"SELECT product_id, count(*) FROM orders WHERE product_id > 4000 GROUP BY 1",
		"SELECT product_id / 1000, count(*) FROM orders WHERE product_id + 0 > 4000 GROUP BY 1",
		"SELECT p.id / 1000, count(*)" + joined + "p.id + 0 > 4000 GROUP BY 1",
		"SELECT p.category, count(*)" + joined + "p.id IN (SELECT id FROM products WHERE id > 4000) GROUP BY 1",
	} {
		ours.notices = nil
		if rows, err := cells(t, ours.Conn, sql); err != nil || len(rows)+len(ours.notices) > 0 {
			t.Errorf("%s: %v, %v, %q", sql, rows, err, ours.notices)
		}
	}
}

// countedTogether has EXPLAIN say how much of a customer counts: three rows of orders, times the rows of public tables that one can meet.
func countedTogether(t *testing.T, ours *pgx.Conn) {
	t.Helper()
	for join, want := range map[string]int{
		"JOIN tags t ON t.product = o.product_id WHERE t.main":                                        3,
		"JOIN tags t ON t.product = o.product_id WHERE t.tag IN (1, 4)":                               6,
		"JOIN tags t ON t.product = o.product_id AND t.tag = o.qty":                                   3,
		"JOIN (SELECT product FROM tags WHERE tag < 4) t ON t.product = o.product_id":                 9,
		"LEFT JOIN tags t ON t.product = o.product_id AND t.tag = 3":                                  3,
		"JOIN products p ON p.id = o.product_id JOIN tree x ON x.below = p.category":                  18,
		"JOIN products p ON p.id = o.product_id JOIN tree x ON x.below = p.category AND x.above > 10": 3,
		"JOIN stores s ON s.id = o.store_id JOIN cal c ON c.d = o.ordered_at::date":                   3,
	} {
		rows, err := cells(t, ours, "EXPLAIN SELECT count(*) FROM orders o "+join)
		if text := fmt.Sprint(rows); err != nil || !strings.Contains(text, fmt.Sprintf("at most %d rows", want)) {
			t.Errorf("%s: %v, want %d in %s", join, err, want, text)
		}
	}
}

// countedAnew adds rows to a public table of the protected database. A statement is refused that was planned by the number of rows with one
// value, if there are more by now.
func countedAnew(t *testing.T, data, ours *pgx.Conn) {
	t.Helper()
	const below = "SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id JOIN tree t ON t.below = p.category AND t.steps > -"
	const main = "SELECT count(*) FROM orders o JOIN products p ON p.id = o.product_id JOIN tags t ON t.product = p.id " +
		"WHERE t.main AND t.tag < 50 AND o.qty > -"
	const bounded = "SELECT count(*) FROM orders o JOIN rates r ON r.currency = o.currency AND r.day = o.ordered_at::date " +
		"WHERE o.total * r.rate > -"
	const referred = "SELECT count(*) FROM orders o WHERE o.product_id + 0 > 900 AND o.qty > -"
	for i, c := range []struct{ change, sql, code string }{
		{"INSERT INTO products VALUES (5000, 'new', 1)", referred, "PB013"},
		{"DELETE FROM products WHERE id = 5000", referred, ""},
		{"INSERT INTO tags VALUES (1, 40, false), (1, 50, true)", main, ""},
		{"INSERT INTO tags VALUES (1, 40, true)", main, "PB013"},
		{"DELETE FROM tags WHERE tag = 40 AND main", main, ""},
		{"INSERT INTO rates VALUES ('XAU', '2023-01-01', 2000)", bounded, "PB013"},
		{"UPDATE rates SET rate = 1.3 WHERE currency = 'XAU'", bounded, ""},
		{"DELETE FROM rates WHERE currency = 'XAU'", bounded, ""},
		{"INSERT INTO tree VALUES (7, 1, 1)", below, ""}, // 2 above 1, where at most 6 are above another
		{"INSERT INTO tree VALUES (7, 12, 1)", below, "PB013"},
		{"SELECT", "SELECT count(*) FROM orders o JOIN cal c ON c.d = o.ordered_at::date WHERE o.qty > -", ""},
		{"SELECT", "SELECT count(*) FROM orders o JOIN tree t ON t.below > o.qty WHERE o.qty > -", "PB013"},
		{"SELECT", "SELECT count(*) FROM orders o WHERE EXISTS (SELECT FROM tree t WHERE t.below = o.qty) AND o.qty > -", ""},
		{"DELETE FROM tree WHERE above = 7 AND below IN (1, 12)", below, ""},
	} {
		sitetest.Exec(t, data, c.change)
		if _, err := ours.Exec(t.Context(), c.sql+strconv.Itoa(i)); codeOf(err) != c.code {
			t.Errorf("%s, %s%d: %v, want %q", c.change, c.sql, i, err, c.code)
		}
	}
}

// starQuestions are the questions, each with the SQLSTATE of its refusal, if it is to be refused.
func starQuestions(t *testing.T) (all []form) {
	t.Helper()
	text, err := os.ReadFile("testdata/star/questions.sql")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		title, sql, _ := strings.Cut(block, "\n")
		name, code, _ := strings.Cut(strings.TrimPrefix(title, "-- "), ", refused: ")
		all = append(all, form{name, strings.TrimSuffix(sql, ";"), code})
	}
	return all
}

// codeOf is the SQLSTATE of an error.
func codeOf(err error) string {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		return told.Code
	}
	return ""
}

func starSite(t *testing.T) site {
	t.Helper()
	schema, err := os.ReadFile("testdata/star/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile("testdata/star/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data := sitetest.StartPostgres(t)
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", "postgres")), string(schema))
	return serve(t, data, string(policy))
}

// cells are the rows of a statement as texts, in an order of their own.
func cells(t *testing.T, conn *pgx.Conn, sql string) (rows [][]string, err error) {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range results[len(results)-1].Rows {
		row := make([]string, len(r))
		for i, cell := range r {
			row[i] = "(null)"
			if cell != nil {
				row[i] = string(cell)
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b []string) int { return slices.Compare(a, b) })
	return rows, nil
}

// unlike says how answers differ: by more than noise, or in groups that Postgres has and dpproxy has not. Of groups
// that no row has, dpproxy shows about nothing.
func unlike(got, want [][]string) string {
	key := func(row []string) string { return strings.Join(row[:len(row)-1], "|") }
	expected := map[string]string{}
	for _, row := range want {
		expected[key(row)] = row[len(row)-1]
	}
	for _, row := range got {
		truth, ok := expected[key(row)]
		if !ok {
			truth = "0"
		}
		delete(expected, key(row))
		a, errA := strconv.ParseFloat(row[len(row)-1], 64)
		b, errB := strconv.ParseFloat(truth, 64)
		if errA != nil || errB != nil || math.Abs(a-b) > 25+math.Abs(b)/50 {
			return fmt.Sprintf("%v, and %s in truth", row, truth)
		}
	}
	if len(expected) > 0 {
		return fmt.Sprintf("without %v", expected)
	}
	return ""
}
