package protocol_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// The school has forty courses, and grades, about 3 on average, in the first ten.
const (
	schoolSchema = `CREATE TABLE grades (student int PRIMARY KEY, course text NOT NULL, grade int NOT NULL);
		INSERT INTO grades SELECT g, 'course ' || g % 10, g / 10 % 5 + 1 FROM generate_series(1, 3000) g; ANALYZE;`
	schoolPolicy = `
privacy_unit: {name: student, budget: {epsilon: 9000}}
tables:
  grades: {unit: student, columns: {course: {values: [%s]}, grade: {bounds: [1, 5]}}}
analysts:
  ana: {password: "VERIFIER", tables: [grades]}
answers: {epoch: first}
`
)

func school(t *testing.T) *sitetest.Site {
	var courses []string
	for i := range 40 {
		courses = append(courses, fmt.Sprintf("course %d", i))
	}
	return sitetest.New(t, schoolSchema, fmt.Sprintf(schoolPolicy, strings.Join(courses, ", ")))
}

// taught matches courses with grades.
var taught = regexp.MustCompile(`^course \d$`)

// TestBestCourses asks for the best of many courses, most of which have no grade: none of these is
// among them, in whatever form the statement says so, unless the analyst has it so.
func TestBestCourses(t *testing.T) {
	r := school(t).Run(t)
	var notice *pgconn.Notice
	ana := sitetest.DialTold(t, r.URL("ana"), func(n *pgconn.Notice) { notice = n })
	// Of the thirty courses without grades one passes by chance in one of a million runs.
	sitetest.Exec(t, ana, "SET dp.confidence = 0.999999")
	sitetest.Exec(t, ana, "SET dp.epsilon = 2")
	const (
		all   = "SELECT course, avg(grade) AS mean FROM grades GROUP BY course"
		first = all + " ORDER BY mean DESC"
	)
	best := courses(t, ana, first+" LIMIT 10")
	if !onlyTaught(best) {
		t.Errorf("the best ten courses are %q", best)
	}
	const few = "30 of 40 values are NULL: their groups may have fewer rows than the error of"
	if !strings.Contains(notice.Detail, few) || !strings.Contains(notice.Hint, "dp.small_groups = show") {
		t.Errorf("the notice says %q, %q", notice.Detail, notice.Hint)
	}
	spent := sitetest.Spent(t, ana)
	for _, sql := range []string{
		"SELECT * FROM (" + all + ") c ORDER BY 2 DESC LIMIT 10",
		"WITH c AS (" + all + ") SELECT course FROM c ORDER BY round(mean, 3) DESC, course LIMIT 10",
		"SELECT course FROM (SELECT course, avg(grade), rank() OVER (ORDER BY avg(grade) DESC) AS place FROM grades GROUP BY course) c " +
			"WHERE place <= 10 ORDER BY place",
		"SELECT unnest((array_agg(course ORDER BY mean DESC))[:10]) FROM (" + all + ") c",
		"SELECT course, mean FROM (" + all + ") c UNION ALL SELECT 'none', 5 WHERE false ORDER BY mean DESC LIMIT 10",
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeSimpleProtocol} {
			if again := courses(t, ana, sql, mode); !onlyTaught(again) {
				t.Errorf("%s:\n%q, the best ten were %q", sql, again, best)
			}
		}
	}
	if worst := courses(t, ana, all+" ORDER BY mean LIMIT 10"); !onlyTaught(worst) {
		t.Errorf("the worst ten courses are %q", worst)
	}
	for sql, want := range map[string]int{
		all + " ORDER BY mean DESC NULLS FIRST LIMIT 30":            0,
		"SELECT course FROM (" + all + ") c WHERE mean IS NOT NULL": 10,
		all + " HAVING avg(grade) > 0":                              10,
	} {
		n := 0
		for _, c := range courses(t, ana, sql) {
			if taught.MatchString(c) {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d courses with grades, want %d", sql, n, want)
		}
	}
	sitetest.Exec(t, ana, "SET dp.small_groups = show")
	if shown := courses(t, ana, first+" LIMIT 10"); onlyTaught(shown) {
		t.Errorf("with small groups the best ten courses are %q", shown)
	}
	if strings.Contains(notice.Detail, "NULL") {
		t.Errorf("with small groups the notice says %q", notice.Detail)
	}
	if now := sitetest.Spent(t, ana); now != spent {
		t.Errorf("the same numbers cost something: before\n%s\nafter\n%s", spent, now)
	}
	r.Silent(t)
}

// courses returns the first column.
func courses(t *testing.T, ana *pgx.Conn, sql string, args ...any) (list []string) {
	t.Helper()
	rows, err := ana.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		list = append(list, string(rows.RawValues()[0]))
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	return list
}

func onlyTaught(list []string) bool {
	for _, c := range list {
		if !taught.MatchString(c) {
			return false
		}
	}
	return len(list) == 10
}
