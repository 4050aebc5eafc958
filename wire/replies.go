package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// replies passes the mirror's messages on to the client.
type replies struct {
	session  *Session
	mirror   *reader
	client   *peer
	pipeline *pipeline
	idle     *idleWatch
	senders  *senders
	limits   Limits
	adviser  Adviser // nil: nobody knows more than the mirror
	prepared int     // statements by SQL's PREPARE
}

// relay passes messages on until the mirror ends.
func (r *replies) relay() error {
	for {
		if !r.mirror.ready() {
			if err := r.client.flush(); err != nil {
				return errClientGone
			}
		}
		typ, size, err := r.mirror.head()
		if err != nil {
			return errMirrorLost
		}
		err = r.reply(typ, size)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errMirrorLost
		}
		if err != nil {
			return err
		}
	}
}

// reply passes one message of the mirror on, or keeps it.
func (r *replies) reply(typ byte, size int) error {
	switch typ {
	case 'N':
		return r.notice(size)
	case 'S':
		return r.parameterStatus(size)
	case 'A':
		return r.notification(size)
	case 'E':
		return r.errorResponse(size)
	}
	head, ok := r.pipeline.head()
	if !ok {
		return errOutOfStep
	}
	belongs, last := head.reply.kind().takes(typ)
	if !belongs || typ != 'Z' && isRefusal(head.reply) {
		return errOutOfStep
	}
	if typ == 'G' {
		return r.refuseCopy(size)
	}
	if err := r.pass(head.reply, typ, size); err != nil {
		return err
	}
	if r.prepared > r.limits.Statements {
		return fatal(pgerr.ProgramLimitExceeded, "a session may hold %d prepared statements", r.limits.Statements)
	}
	if last {
		r.pipeline.pop()
		if typ == 'Z' {
			r.idle.endIfDrained()
		}
	}
	return nil
}

// isRefusal reports whether a reply is that of dp.raise, which must fail.
func isRefusal(owed reply) bool {
	_, ok := owed.(*refusalReply)
	return ok
}

// pass brings a reply to the client, or to the capture of a private question.
func (r *replies) pass(owed reply, typ byte, size int) error {
	switch owed := owed.(type) {
	case replyKind:
		if typ != 'Z' && typ != 'C' {
			return r.client.copyFrom(r.mirror, size)
		}
	case *hiddenReply:
		return r.mirror.skip(size)
	case *closeReply:
		if owed.hidden {
			return r.mirror.skip(size)
		}
	case *capturedReply:
		return r.collect(owed.capture, typ, size)
	case *substituteReply:
		if typ == 'Z' && owed.unready {
			r.pipeline.names.ready(true, false)
			return r.mirror.skip(size)
		}
	case *parseReply, *bindReply, *portalReply, *refusalReply: // they are edited
	}
	if typ == 'D' {
		return r.client.copyFrom(r.mirror, size)
	}
	raw, err := r.mirror.take(size)
	if err != nil {
		return err
	}
	return r.client.write(r.edit(owed, typ, raw))
}

// collect keeps a message of the reply to a private question.
func (r *replies) collect(c *capture, typ byte, size int) error {
	if c.size += size; c.size > r.limits.PrivateBytes {
		return errOutOfStep
	}
	raw, err := r.mirror.take(size)
	if err != nil {
		return err
	}
	if typ == 'D' {
		c.size += rowMemory(raw)
	}
	if c.add(typ, raw) != nil {
		return errOutOfStep
	}
	return nil
}

// rowMemory is what a DataRow takes up beside its bytes: a slice for it, and one for each of its cells.
func rowMemory(raw []byte) int {
	const slice, columns = 24, headerBytes
	if len(raw) < columns+2 {
		return slice
	}
	return slice * (2 + int(binary.BigEndian.Uint16(raw[columns:])))
}

// edit returns the message that the client gets for one of a reply, which may be none.
func (r *replies) edit(owed reply, typ byte, raw []byte) []byte {
	switch typ {
	case 'Z':
		r.ready(owed.kind(), raw)
	case 'C':
		r.noteTag(raw)
	}
	if relayed(owed) {
		return raw
	}
	o := r.originOf(owed)
	switch {
	case typ == 'n' && isQuiet(owed):
		raw = nil
	case typ == 'T':
		raw = withOrigins(raw, o)
	case typ == 'C' && o != nil && o.tag != "":
		raw = encode(nil, &pgproto3.CommandComplete{CommandTag: []byte(o.tag)})
	}
	return behindNotices(owed, raw)
}

// behindNotices puts the notices of a reply before a message of it, once.
func behindNotices(owed reply, raw []byte) []byte {
	notices := noticesOf(owed)
	if len(notices) == 0 {
		return raw
	}
	return slices.Concat(notices, raw)
}

func isQuiet(owed reply) bool {
	s, ok := owed.(*substituteReply)
	return ok && s.quiet
}

// originOf returns the origin of a rewritten statement that replies, nil for the client's own.
func (r *replies) originOf(owed reply) *origin {
	switch owed := owed.(type) {
	case *substituteReply:
		return owed.origin
	case *portalReply:
		o, _ := r.pipeline.names.portal(owed.portal)
		return o
	case replyKind, *parseReply, *bindReply, *closeReply, *hiddenReply, *capturedReply, *refusalReply: // without rows
	}
	return nil
}

// withOrigins gives a RowDescription the table columns of the statement that
// the client wrote.
func withOrigins(raw []byte, o *origin) []byte {
	var m pgproto3.RowDescription
	if o == nil || m.Decode(raw[headerBytes:]) != nil || len(m.Fields) != len(o.fields) {
		return raw
	}
	for i := range m.Fields {
		m.Fields[i].TableOID = o.fields[i].TableOID
		m.Fields[i].TableAttributeNumber = o.fields[i].TableAttributeNumber
	}
	return encode(nil, &m)
}

// ready follows a ReadyForQuery.
func (r *replies) ready(k replyKind, raw []byte) {
	status := byte('I')
	if len(raw) > headerBytes {
		status = raw[headerBytes]
	}
	r.pipeline.names.ready(k == replyQuery, status == 'I')
	r.idle.ready(status)
}

// noteTag follows commands that take prepared statements away, and all else of a session.
func (r *replies) noteTag(raw []byte) {
	tag := raw[headerBytes:]
	if bytes.HasPrefix(tag, []byte("DISCARD ALL")) {
		r.session.discards.Add(1)
	}
	r.countPrepared(string(bytes.TrimRight(tag, "\x00")))
	for _, takes := range []string{"DEALLOCATE", "DISCARD ALL", "DO", "CALL"} {
		if bytes.HasPrefix(tag, []byte(takes)) {
			r.pipeline.names.markStale()
		}
	}
}

// countPrepared counts the statements that SQL prepares. They can be counted only when
// they are there: one too many ends the session.
func (r *replies) countPrepared(tag string) {
	switch tag {
	case "PREPARE":
		r.prepared++
	case "DEALLOCATE":
		r.prepared = max(0, r.prepared-1)
	case "DEALLOCATE ALL", "DISCARD ALL":
		r.prepared = 0
	}
}

// refuseCopy answers a COPY FROM STDIN: the mirror is told that the client
// failed, and the client that it cannot.
func (r *replies) refuseCopy(size int) error {
	if err := r.mirror.skip(size); err != nil {
		return err
	}
	return r.pipeline.refuseCopy(encodeError(pgerr.New(pgerr.FeatureNotSupported, "COPY FROM STDIN is not supported").
		WithHint("Use INSERT to fill a temporary table."), "", 0))
}
