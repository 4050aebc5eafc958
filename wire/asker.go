package wire

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// An Asker asks the client's mirror session private questions, inside the
// client's transaction. The client sees nothing of them. It is valid during one
// Run and used by one goroutine.
type Asker struct {
	s      *Session
	failed error // the error that put the session into a failed state
	shift  int   // characters that the client's text has before the statement
	// bound is the prepared statement that is bound, until the mirror was asked about it again;
	// nil for a Query.
	bound *prepared
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

// ask sends exchanges and waits for the end of the last, whose capture it returns. The
// error is that of the first that failed. If ctx ends meanwhile, the mirror gets a cancel
// request, and is waited for all the same.
func (s *Session) ask(ctx context.Context, exchanges ...*exchange) (*capture, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	for _, e := range exchanges {
		if err := s.sendExchange(e); err != nil {
			return nil, err
		}
	}
	if err := s.sendFlush(); err != nil {
		return nil, err
	}
	last := exchanges[len(exchanges)-1].capture
	canceled := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(canceled)
		s.cancelQuestion(last)
	})
	defer func() {
		if !keep() {
			// The request must not hit what is asked next.
			<-canceled
		}
	}()
	select {
	case <-last.done:
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	}
	for _, e := range exchanges {
		if e.capture.err != nil {
			return nil, e.capture.err
		}
	}
	return last, nil
}

func (s *Session) sendExchange(e *exchange) error {
	e.replies[len(e.replies)-1].ends = true
	for i, m := range e.messages {
		if err := s.sendMessage(m, e.replies[i]); err != nil {
			return err
		}
	}
	return nil
}

// cancelQuestion cancels until the question has its answer. Requests can be lost: the
// mirror forgets those that came while it parsed, when it reads what is to be executed.
func (s *Session) cancelQuestion(c *capture) {
	enough := time.After(cancelTime) //nolint:forbidigo // bounds waits for another program
	for {
		s.cancelMirror()
		select {
		case <-c.done:
			return
		case <-enough:
			return
		case <-time.After(cancelPause): //nolint:forbidigo // a pause for another program, on no clock of ours
		}
	}
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
func (m *Asker) Query(ctx context.Context, sql string, oids []uint32, params [][]byte, formats, resultFormats []int16) (*Result, error) {
	e := newExchange(errorEdit{private: true})
	e.query(m.s.private, sql, oids, &pgproto3.Bind{
		ParameterFormatCodes: formats, Parameters: params, ResultFormatCodes: resultFormats,
	})
	if m.bound == nil {
		c, err := m.ask(ctx, e)
		if err != nil {
			return nil, err
		}
		return c.result(), nil
	}
	bound := m.bound
	m.bound = nil
	again := m.describing(bound.text, bound.description.oids, errorEdit{})
	c, err := m.ask(ctx, again, e)
	if err != nil {
		return nil, err
	}
	return c.result(), bound.description.same(again.capture.fields)
}

// same refuses a prepared statement that has other columns by now than when it was described,
// in the words of Postgres. A type of the user's that `dpproxy sync` has made anew is the same.
func (c *capture) same(now []pgproto3.FieldDescription) error {
	changed := len(now) != len(c.fields)
	for i := 0; i < len(now) && !changed; i++ {
		was, is := c.fields[i], now[i]
		changed = string(was.Name) != string(is.Name) || was.DataTypeOID != is.DataTypeOID && min(was.DataTypeOID, is.DataTypeOID) < firstUserOID
	}
	if changed {
		return pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")
	}
	return nil
}

// firstUserOID is where the OIDs of types begin that are not built in.
const firstUserOID = 16384

// query adds the requests that run a query under a name.
func (e *exchange) query(name, sql string, oids []uint32, bind *pgproto3.Bind) {
	bind.DestinationPortal, bind.PreparedStatement = name, name
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	e.add(&pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}, replyParse)
	e.add(bind, replyBind)
	e.add(&pgproto3.Describe{ObjectType: 'P', Name: name}, replyDescribePortal)
	e.add(&pgproto3.Execute{Portal: name}, replyExecute)
	e.add(&pgproto3.Close{ObjectType: 'P', Name: name}, replyClose)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
}

func (c *capture) result() *Result { return &Result{Fields: c.fields, Rows: c.rows} }

// Describe parses sql, with parameters of the types oids as far as they are
// given, and returns what Postgres resolved. Errors are as of [Asker.Query].
func (m *Asker) Describe(ctx context.Context, sql string, oids []uint32) (*Description, error) {
	return m.describe(ctx, sql, oids, errorEdit{private: true})
}

// DescribeOwn describes the whole of the statement that runs, which is the client's own
// text: an error of the mirror keeps its position.
func (m *Asker) DescribeOwn(ctx context.Context, sql string, oids []uint32) (*Description, error) {
	return m.describe(ctx, sql, oids, errorEdit{shift: m.shift})
}

func (m *Asker) describe(ctx context.Context, sql string, oids []uint32, edit errorEdit) (*Description, error) {
	c, err := m.ask(ctx, m.describing(sql, oids, edit))
	if err != nil {
		return nil, err
	}
	return c.description(), nil
}

// describing returns the requests that describe a statement.
func (m *Asker) describing(sql string, oids []uint32, edit errorEdit) *exchange {
	name := m.s.private
	e := newExchange(edit)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	e.add(&pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}, replyParse)
	e.add(&pgproto3.Describe{ObjectType: 'S', Name: name}, replyDescribeStatement)
	e.add(&pgproto3.Close{ObjectType: 'S', Name: name}, replyClose)
	return e
}

func (c *capture) description() *Description {
	return &Description{ParamOIDs: c.oids, Fields: c.fields}
}

// describeWith describes a statement and, in the same round trip, asks a question unless
// that is nil. The error is the statement's before it is the question's.
func (m *Asker) describeWith(ctx context.Context, sql string, q *Question, edit errorEdit) (*Description, *Result, error) {
	if q == nil {
		d, err := m.describe(ctx, sql, nil, edit)
		return d, nil, err
	}
	first, second := m.describing(sql, nil, edit), newExchange(errorEdit{private: true})
	second.query(m.s.private, q.SQL, nil, &pgproto3.Bind{ResultFormatCodes: q.ResultFormats})
	c, err := m.ask(ctx, first, second)
	if err != nil {
		return nil, nil, err
	}
	return first.capture.description(), c.result(), nil
}

// ask remembers the error that puts the session into a failed state.
func (m *Asker) ask(ctx context.Context, exchanges ...*exchange) (*capture, error) {
	c, err := m.s.ask(ctx, exchanges...)
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
func (s *Session) refreshNames(m *Asker) error {
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
