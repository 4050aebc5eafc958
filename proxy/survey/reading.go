package survey

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	answers "dpproxy/survey"
)

// A read is the statement that reads the objects for a question.
type read struct {
	sql     string
	values  []scalar.Value // its parameters
	public  int            // columns
	private int
}

// newRead writes the statement: the key, the public columns, whether the condition holds, and the columns of the question, numbers
// within their bounds and categories as their places. A NULL counts as the lower bound, or as the first value.
func newRead(q *Inquiry, values []scalar.Value, before14 bool) (*read, error) {
	l := q.local
	env := &scalar.Env{Values: values, UTF8: true, Before14: before14}
	w := &scalar.Writer{Env: env, Fold: func(i int) string { return "$" + strconv.Itoa(i+1) }}
	r := &read{values: values, public: len(l.PublicColumns), private: len(q.question.Columns)}
	text := func(c *policy.Column) string { return "CAST(" + c.Read("t") + " AS pg_catalog.text)" }
	columns := []string{text(&l.KeyColumn)}
	for i := range l.PublicColumns {
		columns = append(columns, text(&l.PublicColumns[i]))
	}
	condition := "true"
	if q.condition != nil {
		sql, err := w.Expr(q.condition)
		if err != nil {
			return nil, err
		}
		condition = "(" + sql + ") IS TRUE"
	}
	columns = append(columns, condition)
	for _, c := range q.question.Columns {
		sql, err := privateSQL(w, column(l, c.Name))
		if err != nil {
			return nil, err
		}
		columns = append(columns, sql)
	}
	r.sql = fmt.Sprintf("SELECT %s FROM %s%s.%s AS t ORDER BY t.%s", strings.Join(columns, ", "), l.Source.Only(),
		ast.QuoteIdent(l.Name.Schema), ast.QuoteIdent(l.Name.Name), ast.QuoteIdent(l.Key))
	return r, nil
}

// column returns a private column.
func column(l *policy.Local, name string) *policy.Column {
	for i := range l.Private {
		if l.Private[i].Name == name {
			return &l.Private[i]
		}
	}
	return nil
}

// privateSQL writes a private column as a float8.
func privateSQL(w *scalar.Writer, c *policy.Column) (string, error) {
	const float8 = " AS pg_catalog.float8)"
	if c.Values != nil {
		t := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)
		text := "CAST(" + scalar.ReachOf(t, true).Read(c.Read("t")) + " AS pg_catalog.text) COLLATE pg_catalog.\"C\""
		var sql strings.Builder
		sql.WriteString("CAST(CASE " + text)
		for i, v := range c.Values {
			fmt.Fprintf(&sql, " WHEN %s THEN %d", ast.Quote(v), i)
		}
		return sql.String() + " ELSE 0 END" + float8, nil
	}
	ref := &scalar.Ref{Column: c.Scalar(c.Read("t"))}
	within := w.Env.Bounds(ref)
	sql, _, err := w.Clamped(ref, within)
	if err != nil {
		return "", err
	}
	low, _ := c.Bounds.Low.Float64()
	return "COALESCE(CAST(" + sql + float8 + ", CAST(" + ast.Quote(strconv.FormatFloat(low, 'g', -1, 64)) + float8 + ")", nil
}

// settings of a session that reads objects. A read is not ended: that would tell how long it takes, and it has its own bounds.
const settings = introspect.PlainText + `; SET LOCAL row_security = off; SET LOCAL statement_timeout = '1h';
	SET LOCAL standard_conforming_strings = on; SET LOCAL client_encoding = 'UTF8'; SET LOCAL transform_null_equals = off`

// A rowError is a failure of the read that may depend on a row.
type rowError struct{ error }

// withoutValues says what happened to a row without the values that an error can have.
func withoutValues(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("the protected database failed with SQLSTATE %s", e.Code)
	}
	return errors.New("a row could not be read")
}

// A source is a local table of the protected database.
type source struct {
	local *policy.Local
	open  func(ctx context.Context) (*pgx.Conn, error)
	log   *slog.Logger
}

// objects reads the objects in one snapshot, in which the schema is checked, and in which it stays as it was checked.
func (t source) objects(ctx context.Context, r *read, draft *answers.Draft) error {
	conn, err := t.open(ctx)
	if err != nil {
		return unreached()
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := steady.Open(ctx, conn, []catalog.Name{t.local.Name})
	if errors.Is(err, steady.ErrLocked) {
		return pgerr.New(pgerr.DataUnavailable, "the schema of %s is being changed", t.local).
			WithHint("Nothing was asked. Try again later.")
	}
	if err != nil {
		return unreached()
	}
	defer tx.Rollback(ctx)
	if _, err := conn.PgConn().Exec(ctx, settings).ReadAll(); err != nil {
		return unreached()
	}
	if err := t.unchanged(ctx, tx); err != nil {
		return err
	}
	params, oids, formats := make([][]byte, len(r.values)), make([]uint32, len(r.values)), make([]int16, len(r.values))
	for i, v := range r.values {
		params[i], oids[i] = v.Bytes, v.OID
		if v.Binary {
			formats[i] = pgx.BinaryFormatCode
		} else {
			oids[i] = 0
		}
	}
	results := make([]int16, 1+r.public+1+r.private)
	for i := 1 + r.public; i < len(results); i++ {
		results[i] = pgx.BinaryFormatCode
	}
	// The database plans it first: a statement that it does not take tells of no row.
	if _, err := conn.PgConn().Prepare(ctx, "", r.sql, oids); err != nil {
		return t.untaken(ctx, err)
	}
	rows := conn.PgConn().ExecPrepared(ctx, "", params, formats, results)
	if err := t.collect(ctx, rows, r, draft); err != nil {
		_, _ = rows.Close() // the session ends
		return rowError{err}
	}
	if _, err := rows.Close(); err != nil {
		if lostConnection(err, true) {
			return interrupted()
		}
		return rowError{err}
	}
	return t.settled(ctx, tx)
}

// settled checks behind a read that it was one of the table that was checked.
func (t source) settled(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, steady.Settled([]*catalog.Table{t.local.Source}))
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == introspect.NotUnchanged {
		return t.changed()
	}
	if err != nil {
		return interrupted()
	}
	return nil
}

// changed refuses a survey of a table that is not as the policy was checked against.
func (t source) changed() error {
	return pgerr.New(pgerr.SchemaChanged, "the schema of %s has changed", t.local).
		WithHint("Nothing was asked. The administrator must restart dpproxy.")
}

// collect gives the rows to the draft.
func (t source) collect(ctx context.Context, rows *pgconn.ResultReader, r *read, draft *answers.Draft) error {
	values := make([]float64, r.private)
	for n := 1; rows.NextRow(); n++ {
		cells := rows.Values()
		if len(cells) != 2+r.public+r.private || len(cells[1+r.public]) != 1 {
			return io.ErrUnexpectedEOF
		}
		for i := range values {
			cell := cells[2+r.public+i]
			if len(cell) != 8 {
				return io.ErrUnexpectedEOF
			}
			values[i] = math.Float64frombits(binary.BigEndian.Uint64(cell))
		}
		if err := draft.Object(cells[0], cells[1:1+r.public], cells[1+r.public][0] == 1, values); err != nil {
			return err
		}
		if n%progress == 0 {
			t.log.InfoContext(ctx, "a survey goes on", "table", t.local.Name.String(), "objects", n)
		}
	}
	return nil
}

// progress is after how many objects the log is told.
const progress = 1_000_000

// unchanged checks in the snapshot of the read that the table is as the policy was checked against.
func (t source) unchanged(ctx context.Context, tx pgx.Tx) error {
	schema, err := introspect.Read(ctx, tx, introspect.Relations{Names: []catalog.Name{t.local.Name}})
	if err != nil {
		return unreached()
	}
	now, problems := policy.CheckLocal(t.local.LocalTable, schema)
	if len(problems) > 0 || now.Source.OID != t.local.Source.OID {
		return t.changed()
	}
	same := reflect.DeepEqual(now.KeyColumn, t.local.KeyColumn) && reflect.DeepEqual(now.PublicColumns, t.local.PublicColumns) &&
		reflect.DeepEqual(now.Private, t.local.Private)
	if !same {
		return t.changed()
	}
	return nil
}

// lostConnection reports whether a read has failed for a reason that lies in no row: the connection, or the server as a whole. Memory
// or disk that runs out, or a lock, is one of these before rows are read alone: after that it may be one person's doing.
func lostConnection(err error, begun bool) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	class := refused.Code[:2]
	return slices.Contains([]string{"08", "40", "57"}, class) || !begun && slices.Contains([]string{"53", "55"}, class)
}

// untaken is the error of a statement that the protected database does not take.
func (t source) untaken(ctx context.Context, err error) error {
	if lostConnection(err, false) {
		return interrupted()
	}
	t.log.ErrorContext(ctx, "the protected database does not take a survey", "table", t.local.Name.String(), "reason", withoutValues(err))
	return pgerr.New(pgerr.Internal, "the protected database does not take the survey").
		WithHint("Nothing was asked. Ask in another way, and tell the administrator.")
}

func unreached() error {
	return pgerr.New(pgerr.DataUnavailable, "the protected database cannot be reached").WithHint("Nothing was asked. Try again later.")
}

func interrupted() error {
	return pgerr.New(pgerr.ReadInterrupted, "the read of protected data was interrupted").
		WithHint("Nothing was asked. Ask the same question again.")
}
