package wire

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// parse relays a Parse. Behind that of an intercepted statement goes a Describe
// of our own, so that its Bind knows the types.
func (s *Session) parse(raw []byte) error {
	name, rest, ok := cstring(raw[headerBytes:])
	text, _, ok2 := cstring(rest)
	if !ok || !ok2 {
		return s.send(raw, reply{kind: replyParse})
	}
	statements, refused := s.screen(text)
	if refused == nil && name != "" && !s.statementRoom() {
		refused = encodeError(pgerr.New(pgerr.ProgramLimitExceeded,
			"a session may hold %d prepared statements", s.limits.Statements), "", 0)
	}
	if refused != nil {
		return s.refuse(refused)
	}
	r := reply{kind: replyParse}
	if len(statements) == 1 {
		s.watching = true
		st := &prepared{statement: statements[0], text: text, description: newCapture()}
		r.detail = &detail{statement: name, prepared: st}
		if err := s.send(raw, r); err != nil {
			return err
		}
		return s.sendMessage(&pgproto3.Describe{ObjectType: 'S', Name: name}, reply{
			kind: replyDescribeStatement, private: true,
			detail: &detail{capture: st.description, ends: true, loud: true},
		})
	}
	// Several statements in a Parse are relayed: Postgres refuses them itself.
	if name != "" || s.watching {
		r.detail = &detail{statement: name}
	}
	return s.send(raw, r)
}

// statementRoom reports whether one more named statement fits. Statements that
// SQL has taken away are forgotten before a client is refused.
func (s *Session) statementRoom() bool {
	if s.pipeline.statementRoom(s.limits.Statements) {
		return true
	}
	if ok, err := s.settle(); !ok || err != nil || !s.pipeline.isStale() {
		return s.pipeline.statementRoom(s.limits.Statements)
	}
	if s.refreshNames(&Asker{s: s}) != nil {
		return false
	}
	return s.pipeline.statementRoom(s.limits.Statements)
}

// bind relays a Bind, or runs an intercepted statement and binds the client's
// portal to what it comes to.
func (s *Session) bind(raw []byte) error {
	portal, rest, ok := cstring(raw[headerBytes:])
	name, _, ok2 := cstring(rest)
	if !ok || !ok2 {
		return s.send(raw, reply{kind: replyBind})
	}
	if portal != "" && !s.pipeline.portalRoom(s.limits.Portals) {
		return s.refuse(encodeError(pgerr.New(pgerr.ProgramLimitExceeded,
			"a session may hold %d portals", s.limits.Portals), "", 0))
	}
	if s.watching && s.pipeline.intercepted(name) {
		return s.bindIntercepted(bytes.Clone(raw), portal, name)
	}
	return s.relayBind(raw, portal)
}

func (s *Session) relayBind(raw []byte, portal string) error {
	r := reply{kind: replyBind}
	if portal != "" || s.watching {
		r.detail = &detail{portal: portal}
	}
	return s.send(raw, r)
}

// bindIntercepted runs an intercepted statement. Whatever Postgres would refuse
// before running it is relayed, so that it does.
func (s *Session) bindIntercepted(raw []byte, portal, name string) error {
	s.working.Store(true)
	defer s.working.Store(false)
	ready, err := s.settle()
	if err != nil {
		return err
	}
	m := &Asker{s: s}
	if ready && s.pipeline.isStale() {
		if err := s.refreshNames(m); err != nil {
			return s.failBind(err, nil)
		}
	}
	st := s.pipeline.statement(name)
	var b pgproto3.Bind
	if !ready || st == nil || b.Decode(raw[headerBytes:]) != nil || !s.bindable(st, &b) {
		return s.relayBind(raw, portal)
	}
	m.bound = st // what it refers to may be gone: the mirror is asked again
	fields, err := s.innerFields(m, st)
	if errors.Is(err, errRelay) {
		return s.relayBind(raw, portal)
	}
	if err != nil {
		return s.failBind(err, st)
	}
	rewrite, err := s.run(st.statement, m, BindRequest{
		Params: b.Parameters, Formats: b.ParameterFormatCodes, ParamOIDs: st.description.oids, Fields: fields,
	})
	if err != nil {
		return s.failBind(err, st)
	}
	if rewrite.Relay {
		return s.send(raw, reply{kind: replyBind, detail: &detail{
			portal: portal, prefix: encodeNotices(rewrite.Notices),
		}})
	}
	return s.bindRewritten(st, &b, rewrite)
}

// bindable reports whether Postgres would take the Bind as far as it can be
// told without running the statement.
func (s *Session) bindable(st *prepared, b *pgproto3.Bind) bool {
	formats := len(b.ParameterFormatCodes)
	_, taken := s.pipeline.portal(b.DestinationPortal)
	return st.description.err == nil &&
		len(b.Parameters) == len(st.description.oids) &&
		(formats <= 1 || formats == len(b.Parameters)) &&
		(b.DestinationPortal == "" || !taken)
}

// innerFields describes the query inside a utility statement, which has no description of
// its own but for its parameters. Where it can have none, errRelay lets Postgres say so.
func (s *Session) innerFields(m *Asker, st *prepared) ([]pgproto3.FieldDescription, error) {
	own, inner := st.description, st.statement.Describe
	if inner == "" || inner == st.statement.SQL {
		return own.fields, nil
	}
	d, err := m.describe(s.ctx, inner, own.oids, st.statement.place(st.text))
	if err != nil {
		return nil, err
	}
	if len(d.ParamOIDs) > len(own.oids) {
		return nil, errRelay
	}
	return d.Fields, nil
}

// place says how positions in st.Describe become positions in the whole text.
func (st Statement) place(text string) errorEdit {
	inside := strings.Index(st.SQL, st.Describe)
	if inside < 0 {
		return errorEdit{private: true}
	}
	return errorEdit{shift: characters(text, st.Offset+inside)}
}

// bindRewritten binds the client's portal to a statement of our own, which is
// closed again; the portal stays.
func (s *Session) bindRewritten(st *prepared, b *pgproto3.Bind, rw Rewrite) error {
	if st.statement.Utility {
		rw = Rewrite{SQL: rw.Inline, Notices: rw.Notices, Tag: rw.Tag}
	}
	sql, oids := rw.SQL, append(append([]uint32(nil), st.description.oids...), rw.ExtraOIDs...)
	bind := &pgproto3.Bind{
		DestinationPortal: b.DestinationPortal, PreparedStatement: s.private,
		ParameterFormatCodes: extendFormats(b.ParameterFormatCodes, len(b.Parameters), rw),
		Parameters:           append(append([][]byte(nil), b.Parameters...), rw.Extra...),
		ResultFormatCodes:    b.ResultFormatCodes,
	}
	return s.sendRewritten(sql, oids, bind, &detail{
		portal: b.DestinationPortal, prefix: encodeNotices(rw.Notices),
		origin: &origin{fields: st.description.fields, tag: rw.Tag},
		errors: errorEdit{private: true},
	})
}

// sendRewritten sends Parse, Bind and Close of a statement of our own, of which
// the client sees only the Bind.
func (s *Session) sendRewritten(sql string, oids []uint32, bind *pgproto3.Bind, d *detail) error {
	name := bind.PreparedStatement
	defect := &refusal{any: true, defect: true, message: encodeError(internalError(), "", 0)}
	closing := &pgproto3.Close{ObjectType: 'S', Name: name}
	for _, step := range []struct {
		message pgproto3.Message
		reply   reply
	}{
		{closing, reply{kind: replyClose, private: true}},
		{
			&pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids},
			reply{kind: replyParse, private: true, detail: &detail{refusal: defect}},
		},
		{bind, reply{kind: replyBind, detail: d}},
		{closing, reply{kind: replyClose, private: true}},
	} {
		if err := s.sendMessage(step.message, step.reply); err != nil {
			return err
		}
	}
	return nil
}

// extendFormats adds the formats of a rewrite's parameters behind n of the client's.
func extendFormats(formats []int16, n int, rw Rewrite) []int16 {
	if len(rw.Extra) == 0 || len(formats) == 0 && len(rw.ExtraFormats) == 0 {
		return formats
	}
	out := make([]int16, n+len(rw.Extra)) // text
	for i := range out[:n] {
		if len(formats) > 0 {
			out[i] = formats[min(i, len(formats)-1)]
		}
	}
	copy(out[n:], rw.ExtraFormats)
	return out
}

// failBind answers a Bind whose statement cannot run.
func (s *Session) failBind(err error, st *prepared) error {
	var message []byte
	if st == nil {
		message = s.errorMessage(err, "", 0)
	} else {
		message = s.errorMessage(err, st.text, st.statement.Offset)
	}
	switch {
	case message == nil:
		return s.ending(err)
	case s.pipeline.failed():
		return s.client.write(message)
	}
	return s.refuse(message)
}

// errorMessage is what the client gets for an error of Screen or Run. It is nil
// if the client has its answer, or the session is ending.
func (s *Session) errorMessage(err error, text string, offset int) []byte {
	var own *pgerr.Error
	var mirror *MirrorError
	switch {
	case errors.Is(err, errPipeline) || s.ctx.Err() != nil:
		return nil
	case errors.Is(err, errClientGone):
		return nil
	case errors.As(err, &own):
		return encodeError(own, text, offset)
	case errors.As(err, &mirror) && mirror.message != nil:
		return mirror.message
	}
	s.log.Error("a statement failed inside", "error", err)
	return encodeError(internalError(), "", 0)
}

// ending returns the error that ends the session, or nil if none does.
func (s *Session) ending(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if errors.Is(err, errClientGone) {
		return err
	}
	return nil
}
