package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// questions asks the mirror session private questions, one at a time.
type questions struct {
	session  *Session
	pipeline *pipeline
	canceler *canceler
	name     string // of our statements and portals on the mirror
	// asking is held while a question is under way.
	asking sync.Mutex
}

// An exchange is a script whose replies go to one capture.
type exchange struct {
	*script
	capture *capture
}

func (q *questions) newExchange(errors errorEdit) *exchange {
	c := newCapture()
	return &exchange{capture: c, script: newScript(q.name, func(k replyKind) reply {
		return &capturedReply{replyKind: k, capture: c, errors: errors}
	})}
}

// describing returns the requests that describe a statement.
func (q *questions) describing(sql string, oids []uint32, edit errorEdit) *exchange {
	e := q.newExchange(edit)
	e.parse(sql, oids, nil)
	e.describeStatement()
	e.close('S')
	return e
}

// querying returns the requests that run a query and fetch that many rows of it, 0 for all.
func (q *questions) querying(sql string, rows uint32, oids []uint32, bind *pgproto3.Bind) *exchange {
	e := q.newExchange(errorEdit{private: true})
	e.rows = rows
	e.parse(sql, oids, nil)
	e.bind(e.name, bind, nil)
	e.run(nil, nil)
	return e
}

// ask sends exchanges and waits for the end of the last, whose capture it returns. The
// error is that of the first that failed. If ctx ends meanwhile, the mirror gets a cancel
// request, and is waited for all the same.
func (q *questions) ask(ctx context.Context, exchanges ...*exchange) (*capture, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q.asking.Lock()
	defer q.asking.Unlock()
	for _, e := range exchanges {
		if err := q.send(e); err != nil {
			return nil, err
		}
	}
	if err := q.pipeline.sendFlush(); err != nil {
		return nil, err
	}
	last := exchanges[len(exchanges)-1].capture
	canceled := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(canceled)
		q.cancel(last)
	})
	defer func() {
		if !keep() {
			// The request must not hit the next question.
			<-canceled
		}
	}()
	select {
	case <-last.done:
	case <-q.session.ctx.Done():
		return nil, context.Cause(q.session.ctx)
	}
	for _, e := range exchanges {
		if e.capture.err != nil {
			return nil, e.capture.err
		}
	}
	return last, nil
}

// send sends an exchange, whose capture is complete after the last reply.
func (q *questions) send(e *exchange) error {
	if last, ok := e.steps[len(e.steps)-1].reply.(*capturedReply); ok {
		last.ends = true
	}
	return q.pipeline.sendScript(e.script)
}

// cancel sends cancel requests until the question has its answer. Requests can be lost: the
// mirror forgets one that came while it parsed, when it reads the request to execute.
func (q *questions) cancel(c *capture) {
	enough := time.After(cancelTime) //nolint:forbidigo // bounds waits for another program
	for {
		q.canceler.cancelMirror()
		select {
		case <-c.done:
			return
		case <-enough:
			return
		case <-time.After(cancelPause): //nolint:forbidigo // a pause for another program, on no clock of ours
		}
	}
}

// await waits until no question is under way.
func (q *questions) await() {
	q.asking.Lock()
	q.asking.Unlock() //nolint:staticcheck // to have had it is enough
}

// settle waits until every reply owed has come. It reports whether the mirror
// then takes requests, rather than skipping to the next Sync.
func (q *questions) settle() (bool, error) {
	if q.pipeline.failed() {
		return false, nil
	}
	if q.pipeline.idle() {
		return true, nil
	}
	_, err := q.ask(q.session.ctx, q.newExchange(errorEdit{}))
	if errors.Is(err, errPipeline) {
		return false, nil
	}
	return err == nil, err
}
