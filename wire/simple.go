package wire

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// query relays a Query, or runs the intercepted statements in it.
func (s *Session) query(raw []byte) error {
	text, rest, ok := cstring(raw[headerBytes:])
	if !ok || len(rest) > 0 {
		return s.send(raw, reply{kind: replyQuery})
	}
	statements, refused := s.screen(text)
	if refused != nil {
		return s.refuseQuery(refused)
	}
	if statements == nil {
		return s.send(raw, reply{kind: replyQuery})
	}
	s.watching = true
	s.working.Store(true)
	defer s.working.Store(false)
	if ready, err := s.settle(); !ready || err != nil {
		// Postgres ignores a Query while it skips to the next Sync.
		return err
	}
	if len(statements) == 1 {
		return s.queryOne(text, statements[0])
	}
	return s.querySeveral(text, statements)
}

// errRelay says that a statement is better refused by Postgres itself.
var errRelay = errors.New("wire: relay the statement")

// runSimple describes a statement of a Query and runs it.
func (s *Session) runSimple(m *Asker, text string, st Statement) (Rewrite, *origin, error) {
	b := BindRequest{Simple: true}
	m.shift = characters(text, st.Offset)
	rw, err := s.attended(m, func(ctx context.Context) (Rewrite, error) {
		if st.Describe != "" {
			d, early, err := m.describeWith(ctx, st.Describe, st.early(), st.place(text))
			if err != nil {
				return Rewrite{}, err
			}
			if len(d.ParamOIDs) > 0 {
				return Rewrite{}, errRelay
			}
			b.Fields, b.Early = d.Fields, early
		}
		return st.Run(ctx, m, b)
	})
	return rw, &origin{fields: b.Fields, tag: rw.Tag}, err
}

// early returns what may be asked before a statement is described. One with parameters
// is relayed, in a session that nothing has failed.
func (st Statement) early() *Question {
	if st.Early == nil || strings.Contains(st.Describe, "$") {
		return nil
	}
	return st.Early()
}

// queryOne runs the only statement of a Query. What it comes to runs as a Query
// too, in the transaction that the private questions have begun. From Postgres 18 on that
// one ends with a Sync alone, as any that messages of the extended protocol begin, and with
// that only if such a message is between the Query and the Sync.
func (s *Session) queryOne(text string, st Statement) error {
	rw, from, err := s.runSimple(&Asker{s: s}, text, st)
	if errors.Is(err, errRelay) {
		rw, err = Rewrite{Relay: true}, nil
	}
	if err != nil {
		return s.failQuery(s.errorMessage(err, text, st.Offset), err)
	}
	if !rw.Relay && rw.Inline == "" {
		return s.queryWithParameters(rw, from)
	}
	d := &detail{prefix: encodeNotices(rw.Notices), unready: true}
	sql := text
	if !rw.Relay {
		sql, d.origin, d.errors = rw.Inline, from, errorEdit{private: true}
	}
	if err := s.sendMessage(&pgproto3.Query{String: sql}, reply{kind: replyQuery, detail: d}); err != nil {
		return err
	}
	if err := s.sendMessage(&pgproto3.Parse{}, reply{kind: replyParse, private: true}); err != nil {
		return err
	}
	if err := s.forgetUnnamed(); err != nil {
		return err
	}
	return s.endQuery()
}

// queryWithParameters runs what stands for a Query in the extended protocol, since
// a Query has no parameters.
func (s *Session) queryWithParameters(rw Rewrite, from *origin) error {
	if err := s.forgetUnnamed(); err != nil {
		return err
	}
	if err := s.sendSteps(rw.steps(from)); err != nil {
		return err
	}
	return s.endQuery()
}

// failQuery answers a Query whose only statement cannot run.
func (s *Session) failQuery(message []byte, err error) error {
	if message == nil {
		if ending := s.ending(err); ending != nil {
			return ending
		}
	}
	if !s.pipeline.failed() {
		return s.refuseQuery(message)
	}
	if err := s.client.write(message); err != nil {
		return errClientGone
	}
	return s.endQuery()
}

// endQuery ends what stands for a Query: its ReadyForQuery is that of a Sync.
func (s *Session) endQuery() error {
	return s.sendMessage(&pgproto3.Sync{}, reply{kind: replySync})
}

// querySeveral runs the statements of a Query one by one in the extended
// protocol, with one Sync at the end: that is one implicit transaction, as a
// Query is.
func (s *Session) querySeveral(text string, statements []Statement) error {
	if err := s.forgetUnnamed(); err != nil {
		return err
	}
	for _, st := range statements {
		var err error
		if st.Run == nil {
			err = s.sendPlain(text, st)
		} else {
			err = s.queryIntercepted(text, st)
		}
		if errors.Is(err, errPipeline) {
			break
		}
		if err != nil {
			return err
		}
	}
	return s.endQuery()
}

// forgetUnnamed does what every Query does to the unnamed statement.
func (s *Session) forgetUnnamed() error {
	return s.sendMessage(&pgproto3.Close{ObjectType: 'S'}, reply{
		kind: replyClose, private: true, detail: &detail{closes: 'S'},
	})
}

// queryIntercepted runs one of several statements of a Query. It returns
// errPipeline when the statements behind it are not to run.
func (s *Session) queryIntercepted(text string, st Statement) error {
	ready, err := s.settle()
	if err != nil {
		return err
	}
	if !ready {
		return errPipeline
	}
	rw, from, err := s.runSimple(&Asker{s: s}, text, st)
	if errors.Is(err, errRelay) {
		return s.sendPlain(text, st)
	}
	if err != nil {
		return s.failOneOfSeveral(s.errorMessage(err, text, st.Offset), err)
	}
	if rw.Relay {
		if err := s.client.write(encodeNotices(rw.Notices)); err != nil {
			return errClientGone
		}
		return s.sendPlain(text, st)
	}
	return s.sendSteps(rw.steps(from))
}

func (s *Session) failOneOfSeveral(message []byte, err error) error {
	if message == nil {
		if ending := s.ending(err); ending != nil {
			return ending
		}
		return errPipeline
	}
	if s.pipeline.failed() {
		if s.client.write(message) != nil {
			return errClientGone
		}
		return errPipeline
	}
	if err := s.refuse(message); err != nil {
		return err
	}
	return errPipeline
}

// sendPlain runs one of several statements as the client wrote it.
func (s *Session) sendPlain(text string, st Statement) error {
	edit := errorEdit{shift: characters(text, st.Offset)}
	return s.sendSteps(steps{sql: st.SQL, parse: &detail{errors: edit}, edit: edit})
}

// steps are a statement that runs in the extended protocol in place of one of a
// Query.
type steps struct {
	sql     string
	oids    []uint32
	params  [][]byte
	formats []int16
	from    *origin // what the client may see of it; nil for its own statement
	prefix  []byte
	parse   *detail // of the Parse
	edit    errorEdit
}

// steps returns what runs instead of a statement of a Query.
func (rw Rewrite) steps(from *origin) steps {
	st := steps{
		sql: rw.Inline, from: from, prefix: encodeNotices(rw.Notices), edit: errorEdit{private: true},
		parse: &detail{refusal: &refusal{any: true, defect: true, message: encodeError(internalError(), "", 0)}},
	}
	if rw.Inline == "" {
		st.sql, st.oids, st.params, st.formats = rw.SQL, rw.ExtraOIDs, rw.Extra, rw.ExtraFormats
	}
	return st
}

// sendSteps runs one statement under private names. The client sees of it what
// it would see of a statement of a Query.
func (s *Session) sendSteps(st steps) error {
	name := s.private
	closeStatement := &pgproto3.Close{ObjectType: 'S', Name: name}
	hidden := func(k replyKind) reply { return reply{kind: k, private: true} }
	bind := hidden(replyBind)
	bind.detail = &detail{errors: st.edit}
	parsing := hidden(replyParse)
	parsing.detail = st.parse
	for _, step := range []struct {
		message pgproto3.Message
		reply   reply
	}{
		{closeStatement, hidden(replyClose)},
		{&pgproto3.Parse{Name: name, Query: st.sql, ParameterOIDs: st.oids}, parsing},
		{&pgproto3.Bind{
			DestinationPortal: name, PreparedStatement: name, Parameters: st.params, ParameterFormatCodes: st.formats,
		}, bind},
		{&pgproto3.Describe{ObjectType: 'P', Name: name}, reply{
			kind: replyDescribePortal, detail: &detail{quiet: true, origin: st.from, prefix: st.prefix},
		}},
		{&pgproto3.Execute{Portal: name}, reply{
			kind: replyExecute, detail: &detail{origin: st.from, errors: st.edit},
		}},
		{&pgproto3.Close{ObjectType: 'P', Name: name}, hidden(replyClose)},
		{closeStatement, hidden(replyClose)},
	} {
		if err := s.sendMessage(step.message, step.reply); err != nil {
			return err
		}
		if step.reply.kind == replyExecute {
			if err := s.failCopy(); err != nil {
				return err
			}
		}
	}
	return nil
}
