package wire

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// parse relays a Parse. Behind that of an intercepted statement goes a Describe
// of our own, so that its Bind knows the types.
func (r *requests) parse(raw []byte) error {
	name, rest, ok := cstring(raw[headerBytes:])
	text, oids, ok2 := cstring(rest)
	if !ok || !ok2 {
		return r.pipeline.send(raw, replyParse)
	}
	raw, text, err := r.widenParse(raw, name, text, oids)
	if err != nil {
		return r.failBind(err, nil)
	}
	statements, refused := r.screen(text)
	if refused == nil && name != "" && !r.statementRoom() {
		refused = encodeError(pgerr.New(pgerr.ProgramLimitExceeded,
			"a session may hold %d prepared statements", r.limits.Statements), "", 0)
	}
	switch {
	case refused != nil:
		return r.refuse(refused)
	case len(statements) == 1:
		return r.prepare(raw, name, &prepared{statement: statements[0], text: text, widened: r.widened, description: newCapture()})
	case name != "" || r.watching:
		// Several statements in a Parse are relayed: Postgres refuses them itself.
		return r.pipeline.send(raw, &parseReply{statement: name})
	}
	return r.pipeline.send(raw, replyParse)
}

// widenParse returns a Parse with the text that stands for the client's.
func (r *requests) widenParse(raw []byte, name, text string, oids []byte) (message []byte, wider string, err error) {
	wider, err = r.widen(text)
	if err != nil || r.widened == nil {
		return raw, text, err
	}
	message = append([]byte{'P', 0, 0, 0, 0}, name...)
	message = append(append(append(message, 0), wider...), 0)
	message = append(message, oids...)
	return finishMessage(message), wider, nil
}

// prepare relays the Parse of an intercepted statement, and has it described.
func (r *requests) prepare(raw []byte, name string, st *prepared) error {
	r.watching = true
	edit := errorEdit{widened: st.widened}
	if err := r.pipeline.send(raw, &parseReply{statement: name, prepared: st, errors: edit}); err != nil {
		return err
	}
	return r.pipeline.sendMessage(&pgproto3.Describe{ObjectType: 'S', Name: name},
		&capturedReply{replyKind: replyDescribeStatement, capture: st.description, ends: true, loud: true, errors: edit})
}

// statementRoom reports whether one more named statement fits. Statements that
// SQL has taken away are forgotten before a client is refused.
func (r *requests) statementRoom() bool {
	names := r.pipeline.names
	if names.statementRoom(r.limits.Statements) {
		return true
	}
	if ok, err := r.questions.settle(); !ok || err != nil || !names.isStale() {
		return names.statementRoom(r.limits.Statements)
	}
	if r.newAsker().refreshNames(r.session.ctx) != nil {
		return false
	}
	return names.statementRoom(r.limits.Statements)
}

// bind relays a Bind, or runs an intercepted statement and binds the client's
// portal to its rewrite.
func (r *requests) bind(raw []byte) error {
	portal, rest, ok := cstring(raw[headerBytes:])
	name, _, ok2 := cstring(rest)
	if !ok || !ok2 {
		return r.pipeline.send(raw, replyBind)
	}
	if portal != "" && !r.pipeline.names.portalRoom(r.limits.Portals) {
		return r.refuse(encodeError(pgerr.New(pgerr.ProgramLimitExceeded,
			"a session may hold %d portals", r.limits.Portals), "", 0))
	}
	if r.watching && r.pipeline.names.intercepted(name) || name != "" && r.session.prepares && r.preparer != nil {
		return r.bindIntercepted(bytes.Clone(raw), portal, name)
	}
	return r.relayBind(raw, portal)
}

func (r *requests) relayBind(raw []byte, portal string) error {
	if portal != "" || r.watching {
		return r.pipeline.send(raw, &bindReply{portal: portal})
	}
	return r.pipeline.send(raw, replyBind)
}

// bindIntercepted runs an intercepted statement. A Bind that Postgres would refuse
// before running it is relayed, so that it does.
func (r *requests) bindIntercepted(raw []byte, portal, name string) error {
	r.idle.working.Store(true)
	defer r.idle.working.Store(false)
	r.widened = nil
	ready, err := r.questions.settle()
	if err != nil {
		return err
	}
	a := r.newAsker()
	if ready && r.pipeline.names.isStale() {
		if err := a.refreshNames(r.session.ctx); err != nil {
			return r.failBind(err, nil)
		}
	}
	st := r.pipeline.names.statement(name)
	bySQL := ready && st == nil && r.session.prepares && r.preparer != nil
	if bySQL {
		if st, err = r.preparedBySQL(a, name); err != nil {
			return r.failBind(err, nil)
		}
	}
	var b pgproto3.Bind
	if !ready || st == nil || b.Decode(raw[headerBytes:]) != nil || !r.bindable(st, &b) {
		return r.relayBind(raw, portal)
	}
	r.widened = st.widened
	if !bySQL {
		a.unchecked = st // the tables that it refers to may be gone: the mirror is asked again
	}
	rewrite, err := r.runBound(a, st, &b)
	switch {
	case errors.Is(err, errRelay):
		return r.relayBind(raw, portal)
	case err != nil:
		return r.failBind(err, st)
	case rewrite.Relay:
		return r.pipeline.send(raw, &bindReply{portal: portal, notices: encodeNotices(rewrite.Notices)})
	}
	return r.bindRewritten(st, &b, rewrite)
}

// preparedBySQL returns a statement that PREPARE has made, as if a Parse had; nil if there is none, or if it runs as it is. It is looked up
// at each Bind: SQL may make another one of the name.
func (r *requests) preparedBySQL(a *Asker, name string) (*prepared, error) {
	const textOID = 25
	const find = `SELECT statement, pg_catalog.array_to_string(CAST(parameter_types AS pg_catalog.oid[]), ',')
		FROM pg_catalog.pg_prepared_statements WHERE name OPERATOR(pg_catalog.=) $1 AND from_sql`
	found, err := a.Query(r.session.ctx, find, []uint32{textOID}, [][]byte{[]byte(name)}, nil, nil)
	if err != nil || len(found.Rows) == 0 {
		return nil, err
	}
	text, ok := r.preparer.Prepared(string(found.Rows[0][0]), name)
	if !ok {
		return nil, nil //nolint:nilnil // the mirror refuses it if it is protected
	}
	statements, err := r.handler.Screen(r.session, text)
	if err != nil || len(statements) != 1 || statements[0].Run == nil {
		return nil, err
	}
	var oids []uint32
	for item := range strings.SplitSeq(string(found.Rows[0][1]), ",") {
		if oid, err := strconv.ParseUint(item, 10, 32); err == nil {
			oids = append(oids, uint32(oid))
		}
	}
	described, err := a.ask(r.session.ctx, a.questions.describing(text, oids, errorEdit{private: true}))
	return &prepared{statement: statements[0], text: text, description: described}, err
}

// bindable reports whether Postgres would take the Bind as far as it can be
// told without running the statement.
func (r *requests) bindable(st *prepared, b *pgproto3.Bind) bool {
	formats := len(b.ParameterFormatCodes)
	_, taken := r.pipeline.names.portal(b.DestinationPortal)
	return st.description.err == nil &&
		len(b.Parameters) == len(st.description.oids) &&
		(formats <= 1 || formats == len(b.Parameters)) &&
		(b.DestinationPortal == "" || !taken)
}

// runBound runs a prepared statement with the values of a Bind.
func (r *requests) runBound(a *Asker, st *prepared, b *pgproto3.Bind) (Rewrite, error) {
	fields, err := a.innerFields(r.session.ctx, st)
	if err != nil {
		return Rewrite{}, err
	}
	return r.attended(a, func(ctx context.Context) (Rewrite, error) {
		return st.statement.Run(ctx, a, BindRequest{
			Params: b.Parameters, Formats: b.ParameterFormatCodes, ParamOIDs: st.description.oids, Fields: fields,
			Asked: r.widened.asked(st.statement),
		})
	})
}

// innerFields describes the query inside a utility statement, which has no description of
// its own but for its parameters. Where it can have none, errRelay lets Postgres say so.
func (a *Asker) innerFields(ctx context.Context, st *prepared) ([]pgproto3.FieldDescription, error) {
	own, inner := st.description, st.statement.Describe
	if inner == "" || inner == st.statement.SQL {
		return own.fields, nil
	}
	d, err := a.describe(ctx, inner, own.oids, st.statement.place(st.text))
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
// closed again; the portal stays. The client sees the Bind alone.
func (r *requests) bindRewritten(st *prepared, b *pgproto3.Bind, rw Rewrite) error {
	if st.statement.Utility {
		rw = Rewrite{SQL: rw.Inline, Notices: rw.Notices, Tag: rw.Tag}
	}
	s := newScript(r.questions.name, hide)
	s.parse(rw.SQL, append(append([]uint32(nil), st.description.oids...), rw.ExtraOIDs...), rewrittenParse())
	s.bind(b.DestinationPortal, &pgproto3.Bind{
		ParameterFormatCodes: extendFormats(b.ParameterFormatCodes, len(b.Parameters), rw),
		Parameters:           append(append([][]byte(nil), b.Parameters...), rw.Extra...),
		ResultFormatCodes:    b.ResultFormatCodes,
	}, &bindReply{
		portal: b.DestinationPortal, notices: encodeNotices(rw.Notices),
		origin: &origin{fields: st.description.fields, tag: rw.Tag},
	})
	s.close('S')
	return r.pipeline.sendScript(s)
}

// rewrittenParse is the reply to the Parse of a rewritten statement, which Postgres takes
// unless we are wrong.
func rewrittenParse() reply { return &hiddenReply{replyKind: replyParse, defect: true} }

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
func (r *requests) failBind(err error, st *prepared) error {
	var message []byte
	if st == nil {
		message = r.errorMessage(err, "", 0)
	} else {
		message = r.errorMessage(err, st.text, st.statement.Offset)
	}
	switch {
	case message == nil:
		return r.ending(err)
	case r.pipeline.failed():
		return r.tell(message)
	}
	return r.refuse(message)
}
