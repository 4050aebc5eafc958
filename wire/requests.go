package wire

import (
	"context"
	"errors"

	"dpproxy/pgerr"
)

// requests passes the client's messages on to the mirror.
type requests struct {
	runner
	idle     *idleWatch
	watching bool // a statement was intercepted: names matter
	preparer Preparer
}

// relay passes messages on until the client ends.
func (r *requests) relay() error {
	for {
		if r.session.ctx.Err() != nil {
			return context.Cause(r.session.ctx)
		}
		if err := r.await(); err != nil {
			return err
		}
		if err := r.next(); err != nil {
			return err
		}
	}
}

// await sends on what there is, unless the next message is here.
func (r *requests) await() error {
	unread := r.watched != nil && !isClosed(r.watched)
	if unread || !r.client.in.ready() {
		if err := r.pipeline.flush(); err != nil {
			return err
		}
		r.canceler.waiting.Store(true)
	}
	if unread {
		<-r.watched
	}
	r.watched = nil
	return nil
}

func (r *requests) next() error {
	typ, size, err := r.client.in.head()
	r.canceler.waiting.Store(false)
	switch {
	case errors.Is(err, errTooLong):
		return fatal(pgerr.ProgramLimitExceeded, "a message is longer than %d bytes", r.limits.MessageBytes)
	case errors.Is(err, errLength):
		return fatal(pgerr.ProtocolViolation, "invalid message length")
	case err != nil:
		return errClientGone
	}
	raw, err := r.client.in.take(size)
	if err != nil {
		return errClientGone
	}
	r.canceler.await()
	return r.request(typ, raw)
}

// request passes one message on. A message that is malformed goes
// to the mirror all the same, which refuses it as Postgres does.
func (r *requests) request(typ byte, raw []byte) error {
	body := raw[headerBytes:]
	switch typ {
	case 'Q':
		return r.query(raw)
	case 'P':
		return r.parse(raw)
	case 'B':
		return r.bind(raw)
	case 'D':
		return r.describe(raw, body)
	case 'E':
		return r.pipeline.send(raw, r.portalReply(replyExecute, body))
	case 'C':
		return r.closeName(raw, body)
	case 'S':
		return r.pipeline.send(raw, replySync)
	case 'H':
		return r.pipeline.sendUnanswered(raw)
	case 'd':
		return nil // a COPY that is, or will be, refused
	case 'c', 'f':
		return r.pipeline.sendCopyFail()
	case 'F':
		return r.refuseQuery(encodeError(
			pgerr.New(pgerr.FeatureNotSupported, "the function call protocol is not supported"), "", 0))
	case 'X':
		return errTerminate
	}
	return fatal(pgerr.ProtocolViolation, "invalid frontend message type %d", typ)
}

// portalReply is the reply to an Execute or Describe of a portal, which is named where it matters.
func (r *requests) portalReply(k replyKind, body []byte) reply {
	if !r.watching {
		return k
	}
	portal, _, _ := cstring(body)
	return &portalReply{replyKind: k, portal: portal}
}

func (r *requests) describe(raw, body []byte) error {
	if len(body) > 0 && body[0] == 'P' {
		return r.pipeline.send(raw, r.portalReply(replyDescribePortal, body[1:]))
	}
	return r.pipeline.send(raw, replyDescribeStatement)
}

func (r *requests) closeName(raw, body []byte) error {
	if len(body) > 0 {
		if name, _, ok := cstring(body[1:]); ok && (name != "" || r.watching) {
			return r.pipeline.send(raw, &closeReply{object: body[0], name: name})
		}
	}
	return r.pipeline.send(raw, replyClose)
}
