package plannertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

// EmptyServer starts a Postgres of the test's own, and opens a session on it.
func EmptyServer(t *testing.T) *pgx.Conn {
	t.Helper()
	srv, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	conn, err := pgx.Connect(t.Context(), srv.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	Run(t, conn.PgConn(), "SET jit = off")
	return conn
}

// ConnectTo opens a session on a database of a server.
func ConnectTo(t testing.TB, s *pgtemp.Server, database string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), s.URL(database, pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// DatabaseOf returns the name of the database that the session is in.
func DatabaseOf(t testing.TB, conn *pgconn.PgConn) string {
	t.Helper()
	results, err := conn.Exec(t.Context(), "SELECT current_database()").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(results[0].Rows[0][0])
}

// Evaluate computes constants in a session of the mirror, as the prelude does. Parameters without
// a value are NULL.
func Evaluate(t testing.TB, conn *pgconn.PgConn, folds []scalar.Fold, params []uint32, args []string) []scalar.Value {
	t.Helper()
	if len(folds) == 0 {
		return nil
	}
	shown := slices.Clone(folds) // there is one session, which may see all
	for i := range shown {
		shown[i].Concealed = false
	}
	cols, from := scalar.Evaluation(shown)
	var formats []int16
	for _, f := range folds {
		formats = append(formats, f.Format())
	}
	values := make([][]byte, len(params))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := conn.ExecParams(t.Context(), "SELECT "+strings.Join(cols, ", ")+from, values, params, nil, formats).Read()
	if res.Err != nil {
		t.Fatalf("the constants %v: %v", cols, res.Err)
	}
	out := make([]scalar.Value, len(cols))
	for i, f := range res.FieldDescriptions {
		out[i] = scalar.Value{OID: f.DataTypeOID, Binary: f.Format == 1, Bytes: res.Rows[0][i], Unknown: folds[i].Unknown}
	}
	return out
}

// A Lister asks for lists of keys, as planner.Query does.
type Lister[L any] interface {
	Lists(m *work.Meter, values []scalar.Value) ([]L, error)
	Parameters(values []scalar.Value, concealed bool) (params [][]byte, oids []uint32, formats []int16)
}

// WithLists appends the lists of keys to the values of constants, as the prelude does. write writes all questions as one SELECT.
func WithLists[L any](
	t testing.TB, conn *pgconn.PgConn, q Lister[L], values []scalar.Value, write func(lists []L, concealed bool) string,
) []scalar.Value {
	t.Helper()
	asked, err := q.Lists(nil, values)
	if err != nil { // so does the plan
		return values
	}
	out := append(slices.Clip(values), make([]scalar.Value, len(asked))...)
	for _, concealed := range []bool{false, true} {
		sql := write(asked, concealed)
		if sql == "" {
			continue
		}
		params, oids, formats := q.Parameters(values, concealed)
		res := conn.ExecParams(t.Context(), sql, params, oids, formats, nil).Read()
		if res.Err != nil {
			t.Fatalf("lists: %v\n%s", res.Err, sql)
		}
		for i, cell := range res.Rows[0] {
			if cell != nil {
				out[len(values)+i].Bytes = cell
			}
		}
	}
	return out
}

// Refusal writes an error with its place in the statement.
func Refusal(sql string, err error) string {
	e, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return "error without a SQLSTATE: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "error (%s): %s", e.Code, e.Message)
	if e.Position > 0 {
		at := e.Position - 1
		start := strings.LastIndexByte(sql[:at], '\n') + 1
		line, _, _ := strings.Cut(sql[start:], "\n")
		fmt.Fprintf(&b, "\n  %s\n  %s^", line, strings.Repeat(" ", at-start))
	}
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	return b.String()
}

// Literal returns the content of the string literal in an expression of ours.
func Literal(sql string) string {
	from, to := strings.IndexByte(sql, '\''), strings.LastIndexByte(sql, '\'')
	if from == to {
		return sql
	}
	return strings.NewReplacer("''", "'", `\\`, `\`).Replace(sql[from+1 : to])
}

// Run runs statements.
func Run(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
