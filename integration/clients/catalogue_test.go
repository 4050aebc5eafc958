package clients_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// withoutUnit removes all rows of one patient. The rest is analysed anew, so
// that the statistics of the real database differ too.
const withoutUnit = `
DELETE FROM labs WHERE visit_id IN (SELECT id FROM visits WHERE patient_id = 7);
DELETE FROM visits WHERE patient_id = 7;
DELETE FROM patients WHERE id = 7;
ANALYZE;`

// TestCatalogue asks everything that an analyst may ask of the catalogue, twice:
// through a dpproxy over the clinic, and through one over the clinic without one
// patient. The answers must be the same, but for questions that testdata/catalogue/volatile
// lists with the reason. Asked of the two real databases, the same questions must
// tell them apart.
func TestCatalogue(t *testing.T) {
	start := func(schema string) *site {
		o := sitetest.Options{Database: "clinic", Schema: schema, Policy: clinicPolicy}
		o.MirrorSettings = []string{"autovacuum=off"} // it takes numbers of transactions, and of objects, when it wants
		return newSite(t, o, "")
	}
	full, less := start(clinicSchema), start(clinicSchema+withoutUnit)
	volatile, skip := readRules(t, "testdata/catalogue/volatile"), readRules(t, "testdata/catalogue/skip")

	lister := sitetest.Dial(t, full.URL("ana")) // the sessions that are compared do the same, and nothing else
	questions := append(relations(t, lister), functions(t, lister, skip)...)
	through, throughLess := sitetest.Dial(t, full.URL("ana")), sitetest.Dial(t, less.URL("ana"))
	t.Logf("%d questions", len(questions))
	for _, q := range questions {
		a, b := replyTo(t, through, q), replyTo(t, throughLess, q)
		if a != b && volatile.match(q) == "" {
			t.Errorf("%s\nwith the patient:    %s\nwithout the patient: %s", q, difference(a, b), difference(b, a))
		}
	}

	direct, directLess := sitetest.Dial(t, full.Data.URL("clinic", "ana")), sitetest.Dial(t, less.Data.URL("clinic", "ana"))
	told := 0
	const enough = 20
	for _, q := range questions {
		if told < enough && volatile.match(q) == "" && replyTo(t, direct, q) != replyTo(t, directLess, q) {
			told++
		}
	}
	if told < enough {
		t.Errorf("only %d questions tell the real databases apart: these questions see too little", told)
	}
}

// A rule is a pattern of questions with the reason for it.
type rule struct {
	pattern *regexp.Regexp
	reason  string
}

type rules []rule

// readRules reads "pattern: reason" lines; a pattern is of the whole name of a relation
// or function, without its schema.
func readRules(t *testing.T, file string) rules {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all rules
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("%s: %q has no reason", file, line)
		}
		all = append(all, rule{regexp.MustCompile("^(?:" + pattern + ")$"), reason})
	}
	return all
}

var asked = regexp.MustCompile(`(?:FROM|LATERAL) "?\w+"?\."?(\w+)`)

// match returns the reason of the first rule for the subject of a question, or "".
func (r rules) match(question string) string {
	m := asked.FindStringSubmatch(question)
	if m == nil {
		return ""
	}
	for _, one := range r {
		if one.pattern.MatchString(m[1]) {
			return one.reason
		}
	}
	return ""
}

// relations are questions for all rows of all relations of the catalogue, but for how long the
// mirror's server took to analyse a table (from 18 on), which differs as clocks do.
func relations(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return texts(t, conn, `SELECT format('SELECT ROW(%s)::text FROM %I.%I AS r ORDER BY 1',
			string_agg(format('r.%I', attname), ', ' ORDER BY attnum), nspname, relname)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute ON attrelid = c.oid
		WHERE nspname IN ('pg_catalog', 'information_schema', 'pg_toast', 'dp') AND relkind IN ('r', 'v', 't')
			AND attnum > 0 AND attname !~ '^total_.*_time$' GROUP BY nspname, relname ORDER BY nspname, relname`)
}

// arguments are plausible values by type, so that names are of a
// protected relation.
var arguments = map[string][]string{
	"oid": {
		"'visits'::regclass::oid", "'visits_pkey'::regclass::oid",
		"(SELECT oid FROM pg_database WHERE datname = current_database())",
		"(SELECT oid FROM pg_roles WHERE rolname = 'ana')",
	},
	"regclass":                    {"'visits'::regclass", "'patients_pkey'::regclass"},
	"name":                        {"'ana'::name", "'public'::name", "'visits'::name"},
	"text":                        {"'visits'::text", "'clinic'::text", "'SELECT * FROM visits'::text", "'SELECT'::text"},
	"cstring":                     {"'visits'::cstring"},
	"integer":                     {"1", "0"},
	"bigint":                      {"1::bigint"},
	"smallint":                    {"1::smallint"},
	"boolean":                     {"true"},
	"regtype":                     {"'sex'::regtype"},
	"regproc":                     {"'pg_typeof'::regproc"},
	"regconfig":                   {"'simple'::regconfig"},
	"anyenum":                     {"'f'::sex"},
	"anyelement":                  {"'f'::sex"},
	"refcursor":                   {"'visits'::refcursor"},
	"xid":                         {"'3'::xid"},
	"pg_lsn":                      {"'0/1000000'::pg_lsn"},
	"xid8":                        {"'3'::xid8"},
	"json":                        {`'{"a": 1}'::json`},
	"jsonb":                       {`'{"a": 1}'::jsonb`},
	"text[]":                      {"'{visits,id}'::text[]"},
	"oid[]":                       {"ARRAY['visits'::regclass::oid]"},
	"interval":                    {"'1 day'::interval"},
	"\"char\"":                    {"'r'::\"char\""},
	"\"any\"":                     {"'visits'::regclass"},
	"tsquery":                     {"'a'::tsquery"},
	"date":                        {"'2020-01-01'::date"},
	"timestamp with time zone":    {"'2020-01-01'::timestamptz"},
	"timestamp without time zone": {"'2020-01-01'::timestamp"},
}

// functions are questions to every function that may depend on more than its
// arguments, each with a few lists of plausible ones.
func functions(t *testing.T, conn *pgx.Conn, skip rules) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT n.nspname, p.proname, ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS u(a, i) ORDER BY i)
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.prokind = 'f' AND p.provolatile <> 'i' AND has_function_privilege(p.oid, 'EXECUTE')
			AND p.prorettype::regtype::text NOT IN ('trigger', 'event_trigger', 'internal')
		ORDER BY 1, 2, p.oid`)
	if err != nil {
		t.Fatal(err)
	}
	var questions []string
	var schema, name string
	var types []string
	_, err = pgx.ForEachRow(rows, []any{&schema, &name, &types}, func() error {
		prefix := fmt.Sprintf("SELECT r::text FROM %s.%s(", pgx.Identifier{schema}.Sanitize(), pgx.Identifier{name}.Sanitize())
		if skip.match(prefix) != "" {
			return nil
		}
		for _, list := range lists(types) {
			questions = append(questions, prefix+strings.Join(list, ", ")+") AS r ORDER BY 1")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return questions
}

// lists returns a few lists of arguments of the types: the i-th takes each type's i-th
// value. A type without values gets NULL.
func lists(types []string) [][]string {
	most := 1
	for _, t := range types {
		most = max(most, len(arguments[t]))
	}
	var all [][]string
	for i := range most {
		list := make([]string, len(types))
		for j, t := range types {
			list[j] = "NULL::" + t
			if values := arguments[t]; len(values) > 0 {
				list[j] = values[min(i, len(values)-1)]
			}
		}
		if !slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(list, other) }) {
			all = append(all, list)
		}
	}
	return all
}

func texts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// replyTo is everything that comes back, as one text.
func replyTo(t *testing.T, conn *pgx.Conn, question string) string {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), question).ReadAll()
	if err != nil {
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			t.Fatalf("%s: %v", question, err)
		}
		return fmt.Sprintf("%s %s %s %s %s", refused.Code, refused.Message, refused.Detail, refused.Hint, refused.Where)
	}
	var text strings.Builder
	for _, r := range results {
		for _, row := range r.Rows {
			fmt.Fprintf(&text, "%q\n", row)
		}
	}
	return moment.ReplaceAllString(text.String(), "TIME")
}

// moment is a time with the zone of the session: when a server started or a table was
// analysed. No column of the catalogue holds a time of the data.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00`)

// difference are the first lines that only a has.
func difference(a, b string) string {
	others := strings.Split(b, "\n")
	var only []string
	for line := range strings.SplitSeq(a, "\n") {
		if !slices.Contains(others, line) && len(only) < 3 {
			only = append(only, line[:min(len(line), 300)])
		}
	}
	return strings.Join(only, "\n")
}
