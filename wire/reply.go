package wire

import (
	"bytes"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// reply passes one message of the mirror on, or keeps it.
func (s *Session) reply(typ byte, size int) error {
	switch typ {
	case 'N':
		return s.notice(size)
	case 'S':
		return s.parameterStatus(size)
	case 'A':
		return s.notification(size)
	case 'E':
		return s.errorResponse(size)
	}
	head, owed := s.pipeline.head()
	if !owed {
		return errOutOfStep
	}
	belongs, last := head.kind.takes(typ)
	if !belongs || head.detail != nil && head.refusal.missed(typ) {
		return errOutOfStep
	}
	if typ == 'G' {
		return s.refuseCopy(size)
	}
	if err := s.pass(head, typ, size); err != nil {
		return err
	}
	if s.prepared > s.limits.Statements {
		return fatal(pgerr.ProgramLimitExceeded, "a session may hold %d prepared statements", s.limits.Statements)
	}
	if last {
		s.pipeline.pop()
		if typ == 'Z' {
			s.endIfDrained()
		}
	}
	return nil
}

// forward copies a message to the client without looking at it.
func (s *Session) forward(size int) error {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.mirror.in.copyTo(s.client.out, size)
}

// pass brings a reply to the client, or to the capture of a private question.
func (s *Session) pass(head reply, typ byte, size int) error {
	if typ == 'Z' && head.detail != nil && head.unready {
		s.pipeline.ready(true, false)
		return s.mirror.in.skip(size)
	}
	if head.detail == nil && !head.private && typ != 'Z' && typ != 'C' {
		return s.forward(size)
	}
	if typ == 'D' && !head.private {
		return s.forward(size)
	}
	if head.private && (head.detail == nil || head.capture == nil) {
		return s.mirror.in.skip(size)
	}
	if head.private && size > s.limits.PrivateBytes {
		return errOutOfStep
	}
	raw, err := s.mirror.in.take(size)
	if err != nil {
		return err
	}
	if head.private {
		return s.collect(head.capture, typ, raw)
	}
	return s.client.write(s.editReply(head, typ, raw))
}

// editReply returns what the client gets for a reply, which may be nothing.
func (s *Session) editReply(head reply, typ byte, raw []byte) []byte {
	switch typ {
	case 'Z':
		s.ready(head, raw)
	case 'C':
		s.noteTag(raw)
	}
	if head.detail == nil {
		return raw
	}
	switch {
	case typ == 'n' && head.quiet:
		raw = nil
	case typ == 'T':
		raw = withOrigins(raw, s.originOf(head))
	case typ == 'C':
		if o := s.originOf(head); o != nil && o.tag != "" {
			raw = encode(nil, &pgproto3.CommandComplete{CommandTag: []byte(o.tag)})
		}
	}
	return head.withPrefix(raw)
}

// withPrefix puts before raw, once, what must come before the reply.
func (d *detail) withPrefix(raw []byte) []byte {
	if d == nil || len(d.prefix) == 0 {
		return raw
	}
	out := slices.Concat(d.prefix, raw)
	d.prefix = nil
	return out
}

// originOf returns what the client wrote where a rewritten statement replies.
func (s *Session) originOf(head reply) *origin {
	if !head.byPortal {
		return head.origin
	}
	o, _ := s.pipeline.portal(head.portal)
	return o
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
func (s *Session) ready(head reply, raw []byte) {
	status := byte('I')
	if len(raw) > headerBytes {
		status = raw[headerBytes]
	}
	s.pipeline.ready(head.kind == replyQuery, status == 'I')
	s.idle.ready(status)
}

// noteTag follows commands that take prepared statements away.
func (s *Session) noteTag(raw []byte) {
	tag := raw[headerBytes:]
	s.countPrepared(string(bytes.TrimRight(tag, "\x00")))
	for _, takes := range []string{"DEALLOCATE", "DISCARD ALL", "DO", "CALL"} {
		if bytes.HasPrefix(tag, []byte(takes)) {
			s.pipeline.markStale()
		}
	}
}

// countPrepared counts the statements that SQL prepares. They can be counted only when
// they are there: one too many ends the session.
func (s *Session) countPrepared(tag string) {
	switch tag {
	case "PREPARE":
		s.prepared++
	case "DEALLOCATE":
		s.prepared = max(0, s.prepared-1)
	case "DEALLOCATE ALL", "DISCARD ALL":
		s.prepared = 0
	}
}

// notice passes a notice on unless it belongs to a private question, or is what the server
// logs of its own work: which files it reads, how it plans what stands for a statement.
func (s *Session) notice(size int) error {
	head, owed := s.pipeline.head()
	if owed && head.private {
		return s.mirror.in.skip(size)
	}
	raw, err := s.mirror.in.take(size)
	if err != nil || readReport(raw).logged() {
		return err
	}
	if owed && head.detail != nil && len(head.prefix) > 0 {
		if err := s.client.write(head.withPrefix(nil)); err != nil {
			return err
		}
	}
	return s.client.write(raw)
}

// notification passes a notification on if it comes from a session of the same
// user: analysts are not to talk to each other through the mirror.
func (s *Session) notification(size int) error {
	raw, err := s.mirror.in.take(size)
	if err != nil {
		return err
	}
	var m pgproto3.NotificationResponse
	if m.Decode(raw[headerBytes:]) != nil {
		return errOutOfStep
	}
	from, known := s.siblings.sender(m.PID)
	if !known || from.user != s.login.User {
		return nil
	}
	m.PID = from.pid
	return s.client.write(encode(nil, &m))
}

// parameterStatus follows the mirror's settings. The client is told that it is
// no superuser, as at log-in.
func (s *Session) parameterStatus(size int) error {
	raw, err := s.mirror.in.take(size)
	if err != nil {
		return err
	}
	name, rest, _ := cstring(raw[headerBytes:])
	value, _, _ := cstring(rest)
	s.mu.Lock()
	s.params[name] = value
	s.mu.Unlock()
	if name == "is_superuser" {
		return nil
	}
	return s.client.write(raw)
}

// errorResponse passes an error on, replaced or edited as the request it
// answers asks for, and drops what the mirror will skip.
func (s *Session) errorResponse(size int) error {
	raw, err := s.mirror.in.take(size)
	if err != nil {
		return err
	}
	report := readReport(raw)
	if report.ends() {
		return errMirrorLost
	}
	head, owed := s.pipeline.head()
	if !owed || head.kind != replyQuery && head.kind != replySync {
		defer s.pipeline.fail(s.mirrorError(head, report))
	}
	if owed && head.private && head.detail != nil && head.capture != nil && !head.loud {
		return nil
	}
	return s.client.write(s.editError(head, report))
}

func (s *Session) editError(head reply, report mirrorReport) []byte {
	d := head.detail
	if d == nil {
		return report.raw
	}
	if d.refusal.replaces(report) {
		if d.refusal.defect && report.code == pgerr.QueryCanceled.String() {
			return d.withPrefix(errorEdit{private: true}.edit(report.raw)) // a cancel request that came late
		}
		if d.refusal.defect {
			s.log.Error("the mirror refused a rewritten statement", "code", report.code)
		}
		return d.withPrefix(d.refusal.message)
	}
	edit := d.errors
	if head.kind == replyExecute {
		edit.private = s.originOf(head) != nil
	}
	if edit == (errorEdit{}) {
		return d.withPrefix(report.raw)
	}
	return d.withPrefix(edit.edit(report.raw))
}

func (s *Session) mirrorError(head reply, report mirrorReport) error {
	if head.detail == nil || head.capture == nil {
		return errPipeline
	}
	return &MirrorError{Code: report.code, Message: report.message, message: head.errors.edit(report.raw)}
}

// refuseCopy answers a COPY FROM STDIN: the mirror is told that the client
// failed, and the client that it cannot.
func (s *Session) refuseCopy(size int) error {
	if err := s.mirror.in.skip(size); err != nil {
		return err
	}
	s.pipeline.refuseHead(&refusal{any: true, message: encodeError(pgerr.New(
		pgerr.FeatureNotSupported, "COPY FROM STDIN is not supported").WithHint("Use INSERT to fill a temporary table."), "", 0)})
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	out := encode(nil, &pgproto3.CopyFail{Message: "refused"})
	if s.pipeline.copyAteSync() {
		out = encode(out, &pgproto3.Sync{})
	}
	if _, err := s.mirror.out.Write(out); err != nil {
		return errMirrorLost
	}
	if s.mirror.out.Flush() != nil {
		return errMirrorLost
	}
	return nil
}

// collect keeps a message of the reply to a private question.
func (s *Session) collect(c *capture, typ byte, raw []byte) error {
	body := raw[headerBytes:]
	if c.size += len(raw); c.size > s.limits.PrivateBytes {
		return errOutOfStep
	}
	var err error
	switch typ {
	case 't':
		var m pgproto3.ParameterDescription
		err = m.Decode(body)
		c.oids = append([]uint32(nil), m.ParameterOIDs...)
	case 'T':
		var m pgproto3.RowDescription
		err = m.Decode(bytes.Clone(body))
		c.fields = m.Fields
	case 'D':
		var m pgproto3.DataRow
		err = m.Decode(bytes.Clone(body))
		c.rows = append(c.rows, m.Values)
	}
	if err != nil {
		return errOutOfStep
	}
	return nil
}
