package wire

import (
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// errPipeline is what private questions get when the mirror skips to the next
// Sync because of an error that was answered elsewhere.
var errPipeline = errors.New("wire: an earlier request of the pipeline failed")

type replyKind uint8

const (
	replyParse replyKind = iota
	replyBind
	replyClose
	replyDescribeStatement
	replyDescribePortal
	replyExecute
	replySync
	replyQuery
)

// takes reports whether a message type belongs to a reply of this kind, and
// whether it is the last one.
func (k replyKind) takes(typ byte) (ok, last bool) {
	switch k {
	case replyParse:
		return typ == '1', true
	case replyBind:
		return typ == '2', true
	case replyClose:
		return typ == '3', true
	case replyDescribeStatement:
		return typ == 't' || typ == 'T' || typ == 'n', typ != 't'
	case replyDescribePortal:
		return typ == 'T' || typ == 'n', true
	case replySync:
		return typ == 'Z', true
	case replyExecute:
		switch typ {
		case 'C', 'I', 's':
			return true, true
		case 'D', 'H', 'd', 'c', 'G':
			return true, false
		}
	case replyQuery:
		switch typ {
		case 'Z':
			return true, true
		case 'T', 'D', 'C', 'I', 'H', 'd', 'c', 'G':
			return true, false
		}
	}
	return false, false
}

// A reply is one expected reply of the mirror.
type reply struct {
	kind    replyKind
	private bool // the client sees none of it, unless it is an error
	endCopy bool // a CopyFail was sent behind the request
	*detail      // nil for the ordinary reply
}

// detail is what the few replies need that are more than relayed.
type detail struct {
	statement string    // the client's name: Parse, Close
	prepared  *prepared // what a ParseComplete gives that name
	closes    byte      // Close: 'S' or 'P'
	portal    string    // the client's name: Bind, Describe, Execute, Close
	byPortal  bool      // origin is that of the portal when the reply comes
	origin    *origin   // what a BindComplete binds the portal to; also of a rewritten Query
	capture   *capture  // collects a private reply
	ends      bool      // the capture is complete after this reply
	refusal   *refusal  // replaces an error
	errors    errorEdit
	prefix    []byte // messages to the client before the first of this reply
	quiet     bool   // Describe: no NoData for the client
	loud      bool   // an error of a private reply is the client's all the same
	unready   bool   // Query: the client gets the ReadyForQuery of the Sync behind it
}

// origin is what the client may see of a rewritten statement.
type origin struct {
	fields []pgproto3.FieldDescription // of the statement as the client wrote it
	tag    string
}

// A pipeline is the queue of replies the mirror owes, oldest first. It follows
// Postgres's own rule: an error outside a Query skips what was asked up to the
// next Sync.
type pipeline struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   []reply
	first   int
	skip    bool // an error came and no Sync has been sent since
	names   names
}

func newPipeline() *pipeline {
	p := &pipeline{names: newNames()}
	p.changed.L = &p.mu
	return p
}

func (p *pipeline) len() int { return len(p.queue) - p.first }

// push adds what is owed for a request that is being sent.
func (p *pipeline) push(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.skip && r.kind != replySync {
		if r.detail != nil {
			r.capture.finish(errPipeline)
		}
		return
	}
	p.skip = false
	if p.first > 0 && len(p.queue) == cap(p.queue) {
		p.queue = p.queue[:copy(p.queue, p.queue[p.first:])]
		p.first = 0
	}
	p.queue = append(p.queue, r)
	if r.detail != nil {
		p.names.sent(r)
	}
}

// head returns the oldest reply owed.
func (p *pipeline) head() (reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len() == 0 {
		return reply{}, false
	}
	return p.queue[p.first], true
}

// pop removes the head: its last message has come.
func (p *pipeline) pop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.remove()
	if r.detail != nil {
		p.names.done(r)
		if r.ends {
			r.capture.finish(nil)
		}
	}
}

func (p *pipeline) remove() reply {
	r := p.queue[p.first]
	p.queue[p.first] = reply{}
	p.first++
	if p.first == len(p.queue) {
		p.queue, p.first = p.queue[:0], 0
	}
	p.changed.Broadcast()
	return r
}

// fail drops what the mirror will not answer after an error: everything before
// the next Sync. The error is cause to the request that met it.
func (p *pipeline) fail(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() > 0 && p.queue[p.first].kind != replySync {
		r := p.remove()
		if r.detail != nil {
			p.names.dropped(r)
			r.capture.finish(cause)
		}
		cause = errPipeline
	}
	p.skip = p.len() == 0
}

// failed reports whether the mirror is skipping to the next Sync.
func (p *pipeline) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.skip
}

func (p *pipeline) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.len() == 0
}

// endCopy remembers that a CopyFail was sent behind the newest request.
func (p *pipeline) endCopy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len() > 0 {
		p.queue[len(p.queue)-1].endCopy = true
	}
}

// copyAteSync reports whether the mirror, reading COPY data for the head, has
// read and ignored a Sync: one that came right behind, before any CopyFail.
func (p *pipeline) copyAteSync() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len() < 2 {
		return false
	}
	head, next := p.queue[p.first], p.queue[p.first+1]
	return head.kind == replyExecute && !head.endCopy && next.kind == replySync
}

// waitRoom waits until fewer than limit replies are owed.
func (p *pipeline) waitRoom(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() >= limit {
		p.changed.Wait()
	}
}

// close ends every wait: the mirror will not answer any more.
func (p *pipeline) close(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() > 0 {
		if r := p.remove(); r.detail != nil {
			r.capture.finish(cause)
		}
	}
	p.changed.Broadcast()
}

// A capture collects the replies to a private question.
type capture struct {
	oids   []uint32
	fields []pgproto3.FieldDescription
	rows   [][][]byte
	size   int
	err    error
	done   chan struct{}
	ended  bool
}

func newCapture() *capture { return &capture{done: make(chan struct{})} }

// finish completes the capture once. Callers hold the pipeline's lock, or are
// the only user.
func (c *capture) finish(err error) {
	if c == nil || c.ended {
		return
	}
	c.ended, c.err = true, err
	close(c.done)
}

func (p *pipeline) full(limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.len() >= limit
}

// refuseHead makes the reply now coming in end in the refusal's error.
func (p *pipeline) refuseHead(f *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &p.queue[p.first]
	if h.detail == nil {
		h.detail = &detail{}
	}
	h.refusal = f
}
