package wire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// send passes one request on and notes the reply that is owed for it.
func (s *Session) send(raw []byte, r reply) error {
	if s.pipeline.full(s.limits.Pipeline) {
		// The mirror may hold its replies back until it is asked for them.
		if err := s.sendFlush(); err != nil {
			return err
		}
		s.pipeline.waitRoom(s.limits.Pipeline)
	}
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	s.pipeline.push(r)
	if _, err := s.mirror.out.Write(raw); err != nil {
		return errMirrorLost
	}
	return nil
}

// sendMessage is send for a request of our own.
func (s *Session) sendMessage(m pgproto3.Message, r reply) error {
	return s.send(encode(nil, m), r)
}

// sendFlush asks the mirror for the replies it owes.
func (s *Session) sendFlush() error {
	if s.mirror.write(encode(nil, &pgproto3.Flush{})) != nil || s.mirror.flush() != nil {
		return errMirrorLost
	}
	return nil
}

// request passes one message of the client on. A message that is malformed goes
// to the mirror all the same, which refuses it as Postgres does.
func (s *Session) request(typ byte, raw []byte) error {
	body := raw[headerBytes:]
	switch typ {
	case 'Q':
		return s.query(raw)
	case 'P':
		return s.parse(raw)
	case 'B':
		return s.bind(raw)
	case 'D':
		return s.describe(raw, body)
	case 'E':
		return s.send(raw, reply{kind: replyExecute, detail: s.portalDetail(body)})
	case 'C':
		return s.closeName(raw, body)
	case 'S':
		return s.send(raw, reply{kind: replySync})
	case 'H':
		return s.mirrorWrite(raw)
	case 'd':
		return nil // a COPY that is, or will be, refused
	case 'c', 'f':
		return s.failCopy()
	case 'F':
		return s.refuseQuery(encodeError(
			pgerr.New(pgerr.FeatureNotSupported, "the function call protocol is not supported"), "", 0))
	case 'X':
		return errTerminate
	}
	return fatal(pgerr.ProtocolViolation, "invalid frontend message type %d", typ)
}

// failCopy ends a COPY FROM STDIN that the mirror may have begun. Otherwise it
// is ignored there.
func (s *Session) failCopy() error {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	s.pipeline.endCopy()
	if _, err := s.mirror.out.Write(encode(nil, &pgproto3.CopyFail{Message: "refused"})); err != nil {
		return errMirrorLost
	}
	return nil
}

func (s *Session) mirrorWrite(raw []byte) error {
	if s.mirror.write(raw) != nil {
		return errMirrorLost
	}
	return nil
}

// portalDetail names the portal of an Execute or Describe, where it matters.
func (s *Session) portalDetail(body []byte) *detail {
	if !s.watching {
		return nil
	}
	portal, _, _ := cstring(body)
	return &detail{portal: portal, byPortal: true}
}

func (s *Session) describe(raw, body []byte) error {
	r := reply{kind: replyDescribeStatement}
	if len(body) > 0 && body[0] == 'P' {
		r = reply{kind: replyDescribePortal, detail: s.portalDetail(body[1:])}
	}
	return s.send(raw, r)
}

func (s *Session) closeName(raw, body []byte) error {
	r := reply{kind: replyClose}
	if len(body) > 0 {
		if name, _, ok := cstring(body[1:]); ok && (name != "" || s.watching) {
			r.detail = &detail{closes: body[0]}
			if body[0] == 'S' {
				r.statement = name
			} else {
				r.portal = name
			}
		}
	}
	return s.send(raw, r)
}

// screen asks the handler about a text. It returns nothing for a text that is
// relayed as it is, and the ErrorResponse for one that is refused.
func (s *Session) screen(text string) (statements []Statement, refused []byte) {
	if len(text) > s.limits.SQLBytes {
		return nil, encodeError(pgerr.New(pgerr.StatementTooComplex,
			"the statement is longer than %d bytes", s.limits.SQLBytes), "", 0)
	}
	if s.handler == nil {
		return nil, nil
	}
	statements, err := s.handler.Screen(s, text)
	if err != nil {
		return nil, s.errorMessage(err, text, 0)
	}
	for _, st := range statements {
		if st.Run != nil {
			return statements, nil
		}
	}
	return nil, nil
}

// refuse raises a refusal where the pipeline is: what follows is skipped up to
// the next Sync, and a transaction fails.
func (s *Session) refuse(message []byte) error {
	f := newRefusal(message)
	name := s.private + "r"
	steps := []struct {
		message pgproto3.Message
		reply   reply
	}{
		{&pgproto3.Close{ObjectType: 'S', Name: name}, reply{kind: replyClose, private: true}},
		{&pgproto3.Parse{Name: name, Query: f.sql()}, reply{kind: replyParse, private: true}},
		{
			&pgproto3.Bind{DestinationPortal: name, PreparedStatement: name},
			reply{kind: replyBind, private: true, detail: &detail{refusal: f}},
		},
	}
	for _, step := range steps {
		if err := s.sendMessage(step.message, step.reply); err != nil {
			return err
		}
	}
	return nil
}

// refuseQuery raises a refusal in place of a Query.
func (s *Session) refuseQuery(message []byte) error {
	f := newRefusal(message)
	return s.sendMessage(&pgproto3.Query{String: f.sql()}, reply{kind: replyQuery, detail: &detail{refusal: f}})
}
