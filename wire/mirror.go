package wire

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A Mirror asks the client's mirror session private questions, inside the
// client's transaction. The client sees nothing of them. It is valid during one
// Run and used by one goroutine.
type Mirror struct {
	s      *Session
	failed error // the error that put the session into a failed state
}

// Result is the answer to a private query.
type Result struct {
	Fields []pgproto3.FieldDescription
	Rows   [][][]byte // by row and column, nil for NULL, in the format asked for
}

// Description is what Postgres says of a statement without running it.
type Description struct {
	ParamOIDs []uint32
	Fields    []pgproto3.FieldDescription // empty for a statement without rows
}

// exchange is a sequence of requests whose replies go to one capture.
type exchange struct {
	messages []pgproto3.Message
	replies  []reply
	capture  *capture
	errors   errorEdit
}

func newExchange(e errorEdit) *exchange { return &exchange{capture: newCapture(), errors: e} }

func (e *exchange) add(m pgproto3.Message, kind replyKind) {
	e.messages = append(e.messages, m)
	e.replies = append(e.replies, reply{kind: kind, private: true, detail: &detail{
		capture: e.capture, errors: e.errors,
	}})
}

// ask sends an exchange and waits for its end. If ctx ends meanwhile, the mirror
// gets a cancel request, and is waited for all the same.
func (s *Session) ask(ctx context.Context, e *exchange) (*capture, error) {
	e.replies[len(e.replies)-1].ends = true
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i, m := range e.messages {
		if err := s.sendMessage(m, e.replies[i]); err != nil {
			return nil, err
		}
	}
	if err := s.sendFlush(); err != nil {
		return nil, err
	}
	canceled := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(canceled)
		s.cancelQuestion(e.capture)
	})
	defer func() {
		if !keep() {
			// The request must not hit what is asked next.
			<-canceled
		}
	}()
	select {
	case <-e.capture.done:
		return e.capture, e.capture.err
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
}

// cancelQuestion cancels until the question has its answer, or the session ends.
func (s *Session) cancelQuestion(c *capture) {
	for {
		s.cancelMirror()
		select {
		case <-c.done:
			return
		case <-s.ctx.Done():
			return
		case <-time.After(cancelPause): //nolint:forbidigo // a pause for another program, on no clock of ours
		}
	}
}

// Query runs sql with parameters of the types oids and returns all its rows.
// Formats and resultFormats are as in a Bind message. A *MirrorError is the
// mirror's refusal; after any error of the mirror, nothing more can be asked.
// When ctx ends the mirror is told to cancel.
func (m *Mirror) Query(ctx context.Context, sql string, oids []uint32, params [][]byte, formats, resultFormats []int16) (*Result, error) {
	name := m.s.private
	e := newExchange(errorEdit{private: true})
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	e.add(&pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}, replyParse)
	e.add(&pgproto3.Bind{
		DestinationPortal: name, PreparedStatement: name, ParameterFormatCodes: formats,
		Parameters: params, ResultFormatCodes: resultFormats,
	}, replyBind)
	e.add(&pgproto3.Describe{ObjectType: 'P', Name: name}, replyDescribePortal)
	e.add(&pgproto3.Execute{Portal: name}, replyExecute)
	e.add(&pgproto3.Close{ObjectType: 'P', Name: name}, replyClose)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	c, err := m.ask(ctx, e)
	if err != nil {
		return nil, err
	}
	return &Result{Fields: c.fields, Rows: c.rows}, nil
}

// Describe parses sql, with parameters of the types oids as far as they are
// given, and returns what Postgres resolved. Errors are as of [Mirror.Query].
func (m *Mirror) Describe(ctx context.Context, sql string, oids []uint32) (*Description, error) {
	return m.describe(ctx, sql, oids, errorEdit{private: true})
}

func (m *Mirror) describe(ctx context.Context, sql string, oids []uint32, edit errorEdit) (*Description, error) {
	name := m.s.private
	e := newExchange(edit)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	e.add(&pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}, replyParse)
	e.add(&pgproto3.Describe{ObjectType: 'S', Name: name}, replyDescribeStatement)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	c, err := m.ask(ctx, e)
	if err != nil {
		return nil, err
	}
	return &Description{ParamOIDs: c.oids, Fields: c.fields}, nil
}

// ask remembers the error that puts the session into a failed state.
func (m *Mirror) ask(ctx context.Context, e *exchange) (*capture, error) {
	c, err := m.s.ask(ctx, e)
	var refused *MirrorError
	if m.failed == nil && (errors.As(err, &refused) || errors.Is(err, errPipeline)) {
		m.failed = err
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c, err
}

// settle waits until every reply owed has come. It reports whether the mirror
// then takes requests, rather than skipping to the next Sync.
func (s *Session) settle() (bool, error) {
	if s.pipeline.failed() {
		return false, nil
	}
	if s.pipeline.idle() {
		return true, nil
	}
	e := newExchange(errorEdit{})
	e.add(&pgproto3.Close{ObjectType: 'S', Name: s.private}, replyClose)
	_, err := s.ask(s.ctx, e)
	if errors.Is(err, errPipeline) {
		return false, nil
	}
	return err == nil, err
}

// refreshNames learns from the mirror which prepared statements are left after
// a DEALLOCATE or DISCARD.
func (s *Session) refreshNames(m *Mirror) error {
	const list = `SELECT name, statement FROM pg_catalog.pg_prepared_statements WHERE NOT from_sql`
	r, err := m.Query(s.ctx, list, nil, nil, nil, nil)
	if err != nil {
		return err
	}
	listed := map[string]string{}
	for _, row := range r.Rows {
		if len(row) == 2 {
			listed[string(row[0])] = string(row[1])
		}
	}
	s.pipeline.keep(listed)
	return nil
}
