package wire

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"
)

// An Asker asks the client's mirror session private questions, inside the
// client's transaction. The client sees nothing of them. It is valid during one
// Run and used by one goroutine.
type Asker struct {
	questions *questions
	failed    error // the error that put the session into a failed state
	shift     int   // characters that the client's text has before the statement
	// unchecked is the prepared statement that is bound, until the mirror was asked about it again;
	// nil for a Query.
	unchecked *prepared
}

// A Question is a query without parameters. ResultFormats is as in a Bind message.
type Question struct {
	SQL           string
	ResultFormats []int16
}

// Query runs sql with parameters of the types oids and returns all its rows.
// Formats and resultFormats are as in a Bind message. A *MirrorError is the
// mirror's refusal; after any error of the mirror, nothing more can be asked.
// When ctx ends the mirror is told to cancel.
func (a *Asker) Query(ctx context.Context, sql string, oids []uint32, params [][]byte, formats, resultFormats []int16) (*Result, error) {
	return a.query(ctx, a.questions.querying(sql, 0, oids, &pgproto3.Bind{
		ParameterFormatCodes: formats, Parameters: params, ResultFormatCodes: resultFormats,
	}))
}

// First is [Asker.Query], of which the mirror sends that many rows at most.
func (a *Asker) First(ctx context.Context, rows uint32, sql string, oids []uint32, params [][]byte, formats []int16) (*Result, error) {
	return a.query(ctx, a.questions.querying(sql, rows, oids, &pgproto3.Bind{ParameterFormatCodes: formats, Parameters: params}))
}

func (a *Asker) query(ctx context.Context, q *exchange) (*Result, error) {
	if a.unchecked == nil {
		c, err := a.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		return c.result(), nil
	}
	st := a.unchecked
	a.unchecked = nil
	again := a.questions.describing(st.text, st.description.oids, errorEdit{})
	c, err := a.ask(ctx, again, q)
	if err != nil {
		return nil, err
	}
	return c.result(), st.description.same(again.capture.fields)
}

// Describe parses sql, with parameters of the types oids as far as they are
// given, and returns the types that Postgres resolved. Errors are as of [Asker.Query].
func (a *Asker) Describe(ctx context.Context, sql string, oids []uint32) (*Description, error) {
	return a.describe(ctx, sql, oids, errorEdit{private: true})
}

// DescribeOwn describes the whole of the statement that runs, which is the client's own
// text: an error of the mirror keeps its position.
func (a *Asker) DescribeOwn(ctx context.Context, sql string, oids []uint32) (*Description, error) {
	return a.describe(ctx, sql, oids, errorEdit{shift: a.shift})
}

func (a *Asker) describe(ctx context.Context, sql string, oids []uint32, edit errorEdit) (*Description, error) {
	c, err := a.ask(ctx, a.questions.describing(sql, oids, edit))
	if err != nil {
		return nil, err
	}
	return c.description(), nil
}

// describeWith describes a statement and, in the same round trip, asks a question unless
// that is nil. The error is the statement's before it is the question's.
func (a *Asker) describeWith(ctx context.Context, sql string, q *Question, edit errorEdit) (*Description, *Result, error) {
	if q == nil {
		d, err := a.describe(ctx, sql, nil, edit)
		return d, nil, err
	}
	first := a.questions.describing(sql, nil, edit)
	second := a.questions.querying(q.SQL, 0, nil, &pgproto3.Bind{ResultFormatCodes: q.ResultFormats})
	c, err := a.ask(ctx, first, second)
	if err != nil {
		return nil, nil, err
	}
	return first.capture.description(), c.result(), nil
}

// ask remembers the error that puts the session into a failed state.
func (a *Asker) ask(ctx context.Context, exchanges ...*exchange) (*capture, error) {
	c, err := a.questions.ask(ctx, exchanges...)
	var refused *MirrorError
	if a.failed == nil && (errors.As(err, &refused) || errors.Is(err, errPipeline)) {
		a.failed = err
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c, err
}

// refreshNames learns from the mirror which prepared statements are left after
// a DEALLOCATE or DISCARD.
func (a *Asker) refreshNames(ctx context.Context) error {
	const list = `SELECT name, statement FROM pg_catalog.pg_prepared_statements WHERE NOT from_sql`
	r, err := a.Query(ctx, list, nil, nil, nil, nil)
	if err != nil {
		return err
	}
	listed := map[string]string{}
	for _, row := range r.Rows {
		if len(row) == 2 {
			listed[string(row[0])] = string(row[1])
		}
	}
	a.questions.pipeline.names.keep(listed)
	return nil
}
