package wire

import (
	"errors"
	"sync"
)

// errPipeline is the error of private questions when the mirror skips to the next
// Sync because of an error that was answered elsewhere.
var errPipeline = errors.New("wire: an earlier request of the pipeline failed")

// A pipeline is the way of requests to the mirror and the queue of replies that it owes,
// oldest first. It follows Postgres's own rule: an error outside a Query skips the requests
// up to the next Sync.
type pipeline struct {
	names  *names
	mirror *peer // to write to
	limit  int   // of replies owed

	mu      sync.Mutex
	changed sync.Cond
	queue   []owed
	first   int
	skip    bool // an error came and no Sync has been sent since
}

// owed is a reply in the queue, with the events since its request was sent.
type owed struct {
	reply      reply
	copyFailed bool   // a CopyFail was sent behind the request
	instead    []byte // the ErrorResponse in place of any that comes; nil for none
}

func newPipeline(mirror *peer, limit int) *pipeline {
	p := &pipeline{names: newNames(), mirror: mirror, limit: limit}
	p.changed.L = &p.mu
	return p
}

func (p *pipeline) len() int { return len(p.queue) - p.first }

// push adds the reply owed for a request that is being sent.
func (p *pipeline) push(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.skip && r.kind() != replySync {
		finish(r, errPipeline)
		return
	}
	p.skip = false
	if p.first > 0 && len(p.queue) == cap(p.queue) {
		p.queue = p.queue[:copy(p.queue, p.queue[p.first:])]
		p.first = 0
	}
	p.queue = append(p.queue, owed{reply: r})
	if !relayed(r) {
		p.names.sent(r)
	}
}

// relayed reports whether a reply is passed on as it is: most are.
func relayed(r reply) bool {
	_, ok := r.(replyKind)
	return ok
}

// finish ends a private question that the reply belongs to.
func finish(r reply, err error) {
	if r, ok := r.(*capturedReply); ok {
		r.capture.finish(err)
	}
}

// head returns the oldest reply owed.
func (p *pipeline) head() (owed, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len() == 0 {
		return owed{}, false
	}
	return p.queue[p.first], true
}

// pop removes the head: its last message has come.
func (p *pipeline) pop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.remove()
	if relayed(r) {
		return
	}
	p.names.done(r)
	if c, ok := r.(*capturedReply); ok && c.ends {
		c.capture.finish(nil)
	}
}

func (p *pipeline) remove() reply {
	r := p.queue[p.first].reply
	p.queue[p.first] = owed{}
	p.first++
	if p.first == len(p.queue) {
		p.queue, p.first = p.queue[:0], 0
	}
	p.changed.Broadcast()
	return r
}

// fail drops the replies that the mirror will not send after an error: all before
// the next Sync. The error is cause to the request that met it.
func (p *pipeline) fail(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() > 0 && p.queue[p.first].reply.kind() != replySync {
		r := p.remove()
		p.names.dropped(r)
		finish(r, cause)
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

// markCopyFailed remembers that a CopyFail was sent behind the newest request.
func (p *pipeline) markCopyFailed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len() > 0 {
		p.queue[len(p.queue)-1].copyFailed = true
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
	return head.reply.kind() == replyExecute && !head.copyFailed && next.reply.kind() == replySync
}

// full reports whether as many replies are owed as may be.
func (p *pipeline) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.len() >= p.limit
}

// waitRoom waits until fewer replies are owed than may be.
func (p *pipeline) waitRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() >= p.limit {
		p.changed.Wait()
	}
}

// answerInstead makes the reply now coming in end in the ErrorResponse of ours.
func (p *pipeline) answerInstead(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue[p.first].instead = message
}

// close ends every wait: the mirror will not answer any more.
func (p *pipeline) close(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.len() > 0 {
		finish(p.remove(), cause)
	}
	p.changed.Broadcast()
}
