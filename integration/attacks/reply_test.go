package attacks_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// An attacker has one session in one world.
type attacker struct {
	data    *pgtemp.Server
	r       *sitetest.Running
	conn    *pgconn.PgConn
	pid     string    // of the session on the mirror
	ledger  *pgx.Conn // a second session, which reads balances
	counter *pgx.Conn // a session on DATA, which counts the statements there
	looks   []int64   // the statements that dpproxy sends by itself, by their numbers there
	notices []*pgconn.Notice
}

func newAttacker(t *testing.T, s *sitetest.Site) *attacker {
	t.Helper()
	a := &attacker{data: s.Data, r: s.Run(t)}
	a.ledger = sitetest.Dial(t, a.r.URL("ana"))
	// Its view belongs to another database, so that the schema has nothing more.
	a.counter = sitetest.Dial(t, s.Data.URL("template1", pgtemp.Superuser))
	sitetest.Exec(t, a.counter, "CREATE EXTENSION pg_stat_statements")
	a.looks = looks(t, a.counter)
	return a
}

// looks returns what dpproxy has sent to the protected database before an analyst came: the looks
// at its schema and at the rights of dpproxy's role, which it takes every now and then.
func looks(t *testing.T, counter *pgx.Conn) []int64 {
	t.Helper()
	rows, err := counter.Query(t.Context(), "SELECT queryid FROM pg_stat_statements")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// A reply is all that an analyst can learn from a statement.
type reply struct {
	results []result
	notices []string
	err     string // with all its fields, but for
	source  string // where in a server's own source it was raised
	charge  string // spent from each budget
	reads   int64  // statements that the protected database has seen
	took    time.Duration
}

type result struct {
	columns []string // name and type
	numeric []bool   // whether a column can hold noise
	rows    [][]string
	tag     string
}

// attack sends a shape in a fresh session state.
func (a *attacker) attack(t *testing.T, sql string, send func(*attacker, *testing.T, string) reply) reply {
	if err := a.refresh(t); err != nil {
		return reply{err: err.Error()}
	}
	a.notices = nil
	spent := a.spent(t)
	sitetest.Exec(t, a.counter, "SELECT pg_stat_statements_reset()")
	begin := time.Now()
	r := send(a, t, sql)
	r.took = time.Since(begin)
	for _, n := range a.notices {
		r.notices = append(r.notices, n.Severity+" "+n.Code+" "+told.ReplaceAllString(errorBar.ReplaceAllString(n.Message, "± N"), "cost"))
	}
	r.charge = difference(spent, a.spent(t))
	r.reads = a.sent(t)
	return r
}

// half is an error, of dates in days, and of times in seconds, or in days and a time.
const half = `(\d+ days? )?[^\s,;]+( days| seconds)?`

var (
	// errorBar is computed from released values, and the rest of the budget from earlier
	// statements: both are compared elsewhere, or not the shape's.
	errorBar = regexp.MustCompile(`± ` + half + `( to ` + half + `)?( of values clamped to \[[^]]*\])?` +
		`(, limits (leave out|move it by) [^,;]+)?`)
	told  = regexp.MustCompile(`^(?:.*; )?cost (?:[0-9l].*left|nothing)`) // errors, as many as there is room for, and the share
	leave = regexp.MustCompile(`would leave .*`)
	// given are names that differ between sessions and mirrors for reasons of their own: the
	// number of a file counts every attempt to make one on the mirror.
	given = regexp.MustCompile(`(pg_temp_|_dp|base/\d+/)[0-9A-Z]+`)
	// failedRead is told of a read of protected data that raised, of a statement
	// that is refused because it did, or of an analyst whom that has suspended.
	failedRead = regexp.MustCompile(`PB(009|011|012)`)
)

// refresh returns the session to its first state, or opens another.
func (a *attacker) refresh(t *testing.T) error {
	if a.conn != nil && !a.conn.IsClosed() {
		if _, err := a.conn.Exec(t.Context(), "ROLLBACK").ReadAll(); err == nil {
			_, err = a.conn.Exec(t.Context(), "DISCARD ALL").ReadAll()
			if err == nil {
				return nil
			}
		}
	}
	cfg, err := pgconn.ParseConfig(a.r.URL("ana"))
	if err != nil {
		return err
	}
	cfg.RuntimeParams["dp.notice"] = "full" // one notice, whatever it says
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { a.notices = append(a.notices, n) }
	if a.conn, err = pgconn.ConnectConfig(t.Context(), cfg); err != nil {
		return err
	}
	t.Cleanup(func() { a.conn.Close(context.Background()) })
	results, err := a.conn.Exec(t.Context(), "SELECT pg_backend_pid()").ReadAll()
	if err == nil {
		a.pid = string(results[0].Rows[0][0])
	}
	return err
}

// spent returns the amounts spent of each budget, a line each.
func (a *attacker) spent(t *testing.T) []string {
	rows, err := a.ledger.Query(t.Context(), "SELECT concat_ws(' ', kind, scope, spent, delta_spent) FROM dp.budget ORDER BY kind, scope")
	if err != nil {
		t.Error(err)
		return nil
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Error(err)
	}
	return lines
}

// difference names the budgets that have changed.
func difference(before, after []string) string {
	var changed []string
	for i := range after {
		if i >= len(before) || before[i] != after[i] {
			changed = append(changed, strings.Join(strings.Fields(after[i])[:2], " "))
		}
	}
	return strings.Join(changed, ", ")
}

// sent counts the statements that the protected database has seen since the last reset, but
// for those that dpproxy sends by itself.
func (a *attacker) sent(t *testing.T) (n int64) {
	const sql = `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'postgres') AND queryid <> ALL ($1)`
	if err := a.counter.QueryRow(t.Context(), sql, a.looks).Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

// simple sends the whole text in one message.
func (a *attacker) simple(t *testing.T, sql string) (r reply) {
	results := a.conn.Exec(t.Context(), sql)
	for results.NextResult() {
		a.add(&r, whole(results.ResultReader()))
	}
	r.fail(results.Close())
	return r
}

// whole reads a result with its columns, also if it has no rows.
func whole(reader *pgconn.ResultReader) *pgconn.Result {
	fields := slices.Clone(reader.FieldDescriptions())
	res := reader.Read()
	res.FieldDescriptions = fields
	return res
}

// extended sends statement after statement, whether or not earlier ones fail.
func (a *attacker) extended(t *testing.T, sql string) (r reply) {
	for _, s := range statements(sql) {
		res := whole(a.conn.ExecParams(t.Context(), s, nil, nil, nil, nil))
		a.add(&r, res)
		r.fail(res.Err)
	}
	return r
}

// statements divides a text; one that does not parse is left whole.
func statements(sql string) []string {
	script, err := parser.Parse(sql, noCatalog{})
	if err != nil {
		return []string{sql}
	}
	var texts []string
	for _, s := range script.Statements {
		texts = append(texts, s.Text)
	}
	return texts
}

type noCatalog struct{ ast.Strangers }

func (noCatalog) Relation(string, string) (ast.Relation, bool) { return ast.Relation{}, false }

// noisy are the types of columns that can hold noise.
var noisy = map[uint32]bool{20: true, 21: true, 23: true, 700: true, 701: true, 1700: true}

// verdicts are the names of columns of booleans that noisy counts decide.
var verdicts = map[string]bool{"every": true, "bool_and": true, "bool_or": true}

func (a *attacker) add(r *reply, res *pgconn.Result) {
	tag := res.CommandTag.String()
	if tag == "" && len(res.Rows) == 0 {
		return
	}
	var out result
	for _, f := range res.FieldDescriptions {
		out.columns = append(out.columns, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
		out.numeric = append(out.numeric, noisy[f.DataTypeOID] || verdicts[f.Name])
	}
	for _, row := range res.Rows {
		var cells []string
		for i, c := range row {
			text := leave.ReplaceAllString(given.ReplaceAllString(cell(c), "${1}N"), "would leave N")
			if text == a.pid && res.FieldDescriptions[i].Name == "pg_backend_pid" {
				text = "pid"
			}
			cells = append(cells, text)
		}
		out.rows = append(out.rows, cells)
	}
	out.tag = tag
	r.results = append(r.results, out)
}

func cell(b []byte) string {
	if b == nil {
		return "NULL"
	}
	return string(b)
}

// fail writes an error with all its fields.
func (r *reply) fail(err error) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return
	case !ok:
		r.err += err.Error() + "\n"
		return
	}
	parts := []string{pg.Severity + " " + pg.Code + " " + pg.Message}
	for _, s := range []string{pg.Detail, pg.Hint, pg.Where, pg.InternalQuery, pg.TableName, pg.ColumnName, pg.ConstraintName} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if pg.Position > 0 {
		parts = append(parts, fmt.Sprintf("at %d", pg.Position))
	}
	r.err += given.ReplaceAllString(strings.Join(parts, " | "), "${1}N") + "\n"
	r.source += fmt.Sprint(pg.SchemaName, pg.DataTypeName, pg.InternalPosition, pg.File, pg.Line, pg.Routine)
}

// worse returns the fate of a shape with one more reply.
func (r reply) worse(f fate) fate {
	switch {
	case f == charged || r.charge != "":
		return charged
	case r.err != "":
		return refused
	}
	return f
}

// skeleton is the part of a reply that no noise may change.
func (r reply) skeleton() string {
	var out strings.Builder
	for _, res := range r.results {
		fmt.Fprintf(&out, "%s %s; ", res.verb(), strings.Join(res.columns, " "))
	}
	return out.String() + strings.Join(r.notices, "; ") + " " + r.err + r.source + " charged: " + r.charge
}

// verb is the tag without the number of rows.
func (r result) verb() string {
	return strings.TrimSuffix(r.tag, fmt.Sprintf(" %d", len(r.rows)))
}

// outline is the part of a reply that golden files hold.
func (r reply) outline() string {
	var out []string
	for _, res := range r.results {
		var names []string
		for _, c := range res.columns {
			names = append(names, c[:strings.LastIndexByte(c, ':')])
		}
		out = append(out, strings.TrimSpace(res.verb()+" "+strings.Join(names, ", ")))
	}
	if r.err != "" {
		out = append(out, strings.TrimSpace(r.err))
	}
	if r.charge != "" {
		out = append(out, "charged "+r.charge)
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "\n", " ")
}
