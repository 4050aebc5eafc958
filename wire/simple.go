package wire

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// query relays a Query, or runs the intercepted statements in it.
func (r *requests) query(raw []byte) error {
	text, rest, ok := cstring(raw[headerBytes:])
	if !ok || len(rest) > 0 {
		return r.pipeline.send(raw, replyQuery)
	}
	text, err := r.widen(text)
	if err != nil {
		return r.failQuery(r.errorMessage(err, text, 0), err)
	}
	statements, refused := r.screen(text)
	if refused != nil {
		return r.refuseQuery(refused)
	}
	if statements == nil {
		return r.pipeline.send(raw, replyQuery)
	}
	r.watching = true
	r.idle.working.Store(true)
	defer r.idle.working.Store(false)
	if ready, err := r.questions.settle(); !ready || err != nil {
		// Postgres ignores a Query while it skips to the next Sync.
		return err
	}
	if len(statements) == 1 {
		return r.querySingle(text, statements[0])
	}
	return r.querySeveral(text, statements)
}

// runSimple describes a statement of a Query and runs it. It returns errRelay for one that
// is better refused by Postgres.
func (r *requests) runSimple(text string, st Statement) (Rewrite, *origin, error) {
	a := r.newAsker()
	a.shift = characters(text, st.Offset)
	b := BindRequest{Simple: true, Asked: r.widened.asked(st)}
	rw, err := r.attended(a, func(ctx context.Context) (Rewrite, error) {
		if st.Describe != "" {
			d, early, err := a.describeWith(ctx, st.Describe, st.early(), st.place(text))
			if err != nil {
				return Rewrite{}, err
			}
			if len(d.ParamOIDs) > 0 {
				return Rewrite{}, errRelay
			}
			b.Fields, b.Early = d.Fields, early
		}
		return st.Run(ctx, a, b)
	})
	return rw, &origin{fields: b.Fields, tag: rw.Tag}, err
}

// early returns the question that may be asked before a statement is described. One with
// parameters is relayed, in a session that nothing has failed.
func (st Statement) early() *Question {
	if st.Early == nil || strings.Contains(st.Describe, "$") {
		return nil
	}
	return st.Early()
}

// querySingle runs the only statement of a Query. Its rewrite runs as a Query
// too, in the transaction that the private questions have begun. From Postgres 18 on that
// one ends with a Sync alone, as any that messages of the extended protocol begin, and with
// that only if such a message is between the Query and the Sync.
func (r *requests) querySingle(text string, st Statement) error {
	rw, from, err := r.runSimple(text, st)
	if errors.Is(err, errRelay) {
		rw, err = Rewrite{Relay: true}, nil
	}
	if err != nil {
		return r.failQuery(r.errorMessage(err, text, st.Offset), err)
	}
	if !rw.Relay && rw.Inline == "" {
		return r.queryWithParameters(rw, from)
	}
	shown := &substituteReply{
		replyKind: replyQuery, unready: true, notices: encodeNotices(rw.Notices), errors: errorEdit{widened: r.widened},
	}
	sql := text
	if !rw.Relay {
		sql, shown.origin, shown.errors = rw.Inline, from, errorEdit{private: true}
	}
	if err := r.pipeline.sendMessage(&pgproto3.Query{String: sql}, shown); err != nil {
		return err
	}
	if err := r.pipeline.sendMessage(&pgproto3.Parse{}, hide(replyParse)); err != nil {
		return err
	}
	if err := r.forgetUnnamed(); err != nil {
		return err
	}
	return r.endQuery()
}

// queryWithParameters runs a rewrite in the extended protocol, since a Query has no parameters.
func (r *requests) queryWithParameters(rw Rewrite, from *origin) error {
	if err := r.forgetUnnamed(); err != nil {
		return err
	}
	if err := r.sendRewritten(rw, from); err != nil {
		return err
	}
	return r.endQuery()
}

// failQuery answers a Query whose only statement cannot run.
func (r *requests) failQuery(message []byte, err error) error {
	if message == nil {
		if ending := r.ending(err); ending != nil {
			return ending
		}
	}
	if !r.pipeline.failed() {
		return r.refuseQuery(message)
	}
	if err := r.tell(message); err != nil {
		return err
	}
	return r.endQuery()
}

// endQuery ends the requests that stand for a Query: its ReadyForQuery is that of a Sync.
func (r *requests) endQuery() error {
	return r.pipeline.sendMessage(&pgproto3.Sync{}, replySync)
}

// forgetUnnamed does to the unnamed statement as every Query does.
func (r *requests) forgetUnnamed() error {
	return r.pipeline.sendMessage(&pgproto3.Close{ObjectType: 'S'}, &closeReply{object: 'S', hidden: true})
}

// querySeveral runs the statements of a Query one by one in the extended
// protocol, with one Sync at the end: that is one implicit transaction, as a
// Query is.
func (r *requests) querySeveral(text string, statements []Statement) error {
	if err := r.forgetUnnamed(); err != nil {
		return err
	}
	for _, st := range statements {
		var err error
		if st.Run == nil {
			err = r.sendPlain(text, st)
		} else {
			err = r.queryIntercepted(text, st)
		}
		if errors.Is(err, errPipeline) {
			break
		}
		if err != nil {
			return err
		}
	}
	return r.endQuery()
}

// queryIntercepted runs one of several statements of a Query. It returns
// errPipeline when the statements behind it are not to run.
func (r *requests) queryIntercepted(text string, st Statement) error {
	ready, err := r.questions.settle()
	if err != nil {
		return err
	}
	if !ready {
		return errPipeline
	}
	rw, from, err := r.runSimple(text, st)
	if errors.Is(err, errRelay) {
		return r.sendPlain(text, st)
	}
	if err != nil {
		return r.failStatement(r.errorMessage(err, text, st.Offset), err)
	}
	if rw.Relay {
		if err := r.tell(encodeNotices(rw.Notices).encoded); err != nil {
			return err
		}
		return r.sendPlain(text, st)
	}
	return r.sendRewritten(rw, from)
}

// failStatement answers for one of several statements that cannot run.
func (r *requests) failStatement(message []byte, err error) error {
	if message == nil {
		if ending := r.ending(err); ending != nil {
			return ending
		}
		return errPipeline
	}
	answer := r.refuse
	if r.pipeline.failed() {
		answer = r.tell
	}
	if err := answer(message); err != nil {
		return err
	}
	return errPipeline
}

// sendPlain runs one of several statements as the client wrote it.
func (r *requests) sendPlain(text string, st Statement) error {
	edit := errorEdit{shift: characters(text, st.Offset), widened: r.widened}
	return r.sendSubstitute(st.SQL, nil, &pgproto3.Bind{}, &hiddenReply{replyKind: replyParse, errors: edit},
		substituteReply{errors: edit})
}

// sendRewritten runs a rewrite in place of a statement of a Query.
func (r *requests) sendRewritten(rw Rewrite, from *origin) error {
	sql, oids, bind := rw.Inline, []uint32(nil), &pgproto3.Bind{}
	if sql == "" {
		sql, oids, bind = rw.SQL, rw.ExtraOIDs, &pgproto3.Bind{Parameters: rw.Extra, ParameterFormatCodes: rw.ExtraFormats}
	}
	return r.sendSubstitute(sql, oids, bind, rewrittenParse(),
		substituteReply{origin: from, errors: errorEdit{private: true}, notices: encodeNotices(rw.Notices)})
}

// sendSubstitute runs a statement in the extended protocol in place of one of a Query. The
// client sees of it the replies that a Query has: shown, of its portal's Describe and Execute.
func (r *requests) sendSubstitute(sql string, oids []uint32, bind *pgproto3.Bind, parsed reply, shown substituteReply) error {
	described := shown
	described.replyKind, described.quiet, described.errors = replyDescribePortal, true, errorEdit{}
	executed := shown
	executed.replyKind, executed.notices = replyExecute, notices{}
	s := newScript(r.questions.name, hide)
	s.parse(sql, oids, parsed)
	s.bind(s.name, bind, &hiddenReply{replyKind: replyBind, errors: shown.errors})
	s.run(&described, &executed)
	s.failCopy()
	return r.pipeline.sendScript(s)
}
