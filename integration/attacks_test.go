package integration_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// attackPolicy protects the shop of testdata/attacks.sql. Names are not hidden,
// so that attacks can aim at Bob.
const attackPolicy = `
privacy_unit: {name: customer, budget: {epsilon: 9000}}
tables:
  cust:
    unit: uid
    columns: {region: {values: [r0, r1, r2, r3, r4, r5, r6, r7]}, age: {bounds: [0, 120]}, salary: {bounds: [0, 200000]}, score: {bounds: [0, 20]}}
  orders:
    unit: uid
    max_rows: 3
    columns: {amount: {bounds: [0, 200]}, status: {values: [new, paid, sent]}}
  items:
    unit: {via: oid, to: orders.oid}
    max_rows: 10
    columns: {qty: {bounds: [0, 10]}}
  sales:
    unit: uid
    max_rows: 5
    columns: {amt: {bounds: [0, 500]}}
  odd:
    unit: uid
    columns: {mood: {values: enum}, day: {bounds: [2020-01-01, 2030-01-01]}, z: {bounds: [0, 1000]}, f: {bounds: [0, 1000]}}
  regions: {public: true}
analysts:
  ana: {password: "VERIFIER", tables: [cust, orders, items, sales, odd]}
  eve: {password: "VERIFIER", tables: [cust]}
`

// worlds are what an attacker must not tell apart: all data, the data without
// Bob, and the data in which he earns another salary.
var worlds = []string{
	"",
	"DELETE FROM cust WHERE uid = 1001; DELETE FROM sales WHERE uid = 1001; DELETE FROM odd WHERE uid = 1001;",
	"UPDATE cust SET salary = 98765, score = 'NaN', bio = 'Bob \\' WHERE uid = 1001; " +
		"UPDATE odd SET a = 'b', b = NULL, day = NULL, at = NULL, ts = '2000-01-01', mood = NULL, code = NULL, z = 1, f = 'Infinity', tag = NULL WHERE uid = 1001;",
}

// An attacker has one session in one world.
type attacker struct {
	r       *running
	conn    *pgconn.PgConn
	ledger  *pgx.Conn // a second session, which asks for what was spent
	notices []string
}

// TestAttacks runs every statement of testdata/attacks in all worlds, in the
// simple and in the extended protocol. The class of its reply must be the same
// everywhere, and an answer without a refusal must be charged.
func TestAttacks(t *testing.T) {
	t.Parallel()
	h := &hunt{attackers: startWorlds(t)}
	datadriven.Walk(t, "testdata/attacks", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			simple := h.everywhere(t, d, (*attacker).simple)
			extended := h.everywhere(t, d, (*attacker).extended)
			if simple == extended {
				return simple
			}
			return simple + "extended:\n" + extended
		})
	})
	for _, b := range h.breaches {
		t.Error(b)
	}
}

// A hunt collects what was found; the test fails only after the last attack, as
// a failed file hides the attacks behind the failure.
type hunt struct {
	attackers []*attacker
	breaches  []string
}

func startWorlds(t *testing.T) []*attacker {
	t.Helper()
	schema, err := os.ReadFile("testdata/attacks.sql")
	if err != nil {
		t.Fatal(err)
	}
	attackers := make([]*attacker, len(worlds))
	for i, change := range worlds {
		s := newSite(t, string(schema)+change+"ANALYZE;", attackPolicy)
		attackers[i] = &attacker{r: s.run(t)}
		attackers[i].ledger = dial(t, attackers[i].r.url("ana"))
	}
	return attackers
}

// everywhere runs an attack in all worlds and returns the class of its reply.
func (h *hunt) everywhere(t *testing.T, d *datadriven.TestData, run func(*attacker, context.Context, string) string) string {
	t.Helper()
	classes := make([]string, len(h.attackers))
	uncharged := make([]bool, len(h.attackers))
	var all sync.WaitGroup
	for i, a := range h.attackers {
		all.Go(func() { classes[i], uncharged[i] = a.attack(t, d, run) })
	}
	all.Wait()
	for i, c := range classes[1:] {
		if c != classes[0] {
			h.breaches = append(h.breaches, fmt.Sprintf("%s: world %d can be told from world 0\n%s\n%s", d.Pos, i+1, c, classes[0]))
		}
	}
	if failedRead.MatchString(classes[0]) {
		h.breaches = append(h.breaches, fmt.Sprintf("%s: a read failed\n%s", d.Pos, classes[0]))
	}
	if uncharged[0] {
		h.breaches = append(h.breaches, fmt.Sprintf("%s: answered without a charge\n%s", d.Pos, classes[0]))
	}
	return classes[0]
}

// attack sends the messages of one attack, which are separated by lines of \g, in
// a fresh session state.
func (a *attacker) attack(t *testing.T, d *datadriven.TestData, run func(*attacker, context.Context, string) string) (class string, uncharged bool) {
	if err := a.refresh(t); err != nil {
		return err.Error(), true
	}
	before := a.spent(t)
	var out strings.Builder
	refused := false
	for message := range strings.SplitSeq(d.Input, "\n\\g\n") {
		class := run(a, t.Context(), message)
		refused = refused || refusal.MatchString(class)
		out.WriteString(class)
	}
	charged := a.spent(t) != before
	if charged {
		out.WriteString("charged\n")
	}
	class = given.ReplaceAllString(out.String(), "${1}N")
	if d.HasArg("varies") {
		class = varying.ReplaceAllString(class, "some rows")
	}
	return class, !charged && !refused && !d.HasArg("free")
}

var (
	refusal = regexp.MustCompile(`(?m)^ERROR (PB|42|0A|22|25|2F|3|55)`)
	// failedRead is told of a read of protected data that raised, of a statement
	// that is refused because it did, or of an analyst whom that has suspended.
	failedRead = regexp.MustCompile(`ERROR PB(009|011|012)`)
	varying    = regexp.MustCompile(`(?m)^.*SELECT \d+$`)
	// given are names that differ between sessions for reasons of their own.
	given = regexp.MustCompile(`(pg_temp_|_dp)[0-9A-Z]+`)
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
	cfg, err := pgconn.ParseConfig(a.r.url("ana"))
	if err != nil {
		return err
	}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { a.notices = append(a.notices, n.Severity) }
	a.conn, err = pgconn.ConnectConfig(t.Context(), cfg)
	if err == nil {
		t.Cleanup(func() { a.conn.Close(context.Background()) })
	}
	return err
}

func (a *attacker) spent(t *testing.T) (spent string) {
	if err := a.ledger.QueryRow(t.Context(), "SELECT spent::text FROM dp.budget WHERE kind = 'unit'").Scan(&spent); err != nil {
		t.Error(err)
	}
	return spent
}

func (a *attacker) simple(ctx context.Context, sql string) string {
	a.notices = nil
	results, err := a.conn.Exec(ctx, sql).ReadAll()
	var out strings.Builder
	for _, r := range results {
		out.WriteString(classOf(r))
	}
	return out.String() + a.end(err)
}

func (a *attacker) extended(ctx context.Context, sql string) string {
	a.notices = nil
	r := a.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	return classOf(r) + a.end(r.Err)
}

// end writes notices, by number and severity, and the error with all its fields.
func (a *attacker) end(err error) string {
	var out strings.Builder
	for _, n := range a.notices {
		out.WriteString(n + "\n")
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok:
		fmt.Fprintf(&out, "ERROR %s %s", pg.Code, pg.Message)
		for _, s := range []string{pg.Detail, pg.Hint, pg.Where, pg.InternalQuery, pg.TableName, pg.ColumnName, pg.ConstraintName} {
			if s != "" {
				out.WriteString(" | " + s)
			}
		}
		if pg.Position > 0 {
			fmt.Fprintf(&out, " | at %d", pg.Position)
		}
		out.WriteString("\n")
	case err != nil:
		out.WriteString(err.Error() + "\n")
	}
	return out.String()
}

// numbers are the types of columns that can hold noise.
var numbers = []uint32{20, 21, 23, 700, 701, 1700}

// classOf writes what of a result must not depend on a protected row: its
// columns, the number of rows, their keys in order, and the tag.
func classOf(r *pgconn.Result) string {
	if r.CommandTag.String() == "" {
		return ""
	}
	var out strings.Builder
	var keys []int
	for i, f := range r.FieldDescriptions {
		fmt.Fprintf(&out, "%s ", f.Name)
		if !slices.Contains(numbers, f.DataTypeOID) {
			keys = append(keys, i)
		}
	}
	if len(r.FieldDescriptions) > 0 {
		fmt.Fprintf(&out, "%d rows ", len(r.Rows))
	}
	for _, row := range r.Rows {
		for _, k := range keys {
			out.WriteString(cell(row[k]) + " ")
		}
	}
	return out.String() + r.CommandTag.String() + "\n"
}

func cell(b []byte) string {
	const longest = 40
	switch {
	case b == nil:
		return "NULL"
	case len(b) > longest:
		return hex.EncodeToString(b[:4]) + "..."
	}
	return string(b)
}
