package wire

import "github.com/jackc/pgx/v5/pgproto3"

// A script is a statement of ours in the extended protocol, under a name that no client
// knows: its requests, and the reply owed for each.
type script struct {
	name  string // of the statement and of its portal
	other func(replyKind) reply
	rows  uint32 // that run fetches at most, 0 for all
	steps []step
}

type step struct {
	request  pgproto3.Message
	reply    reply
	failCopy bool // a CopyFail goes behind the request
}

// newScript begins with a Close, as an earlier script of that name may have failed before its
// last. Requests whose reply is nil have that which other makes.
func newScript(name string, other func(replyKind) reply) *script {
	s := &script{name: name, other: other}
	s.close('S')
	return s
}

func (s *script) add(m pgproto3.Message, k replyKind, r reply) {
	if r == nil {
		r = s.other(k)
	}
	s.steps = append(s.steps, step{request: m, reply: r})
}

// close closes the statement ('S') or the portal ('P').
func (s *script) close(object byte) {
	s.add(&pgproto3.Close{ObjectType: object, Name: s.name}, replyClose, nil)
}

func (s *script) parse(sql string, oids []uint32, r reply) {
	s.add(&pgproto3.Parse{Name: s.name, Query: sql, ParameterOIDs: oids}, replyParse, r)
}

// bind binds the statement to a portal, the client's or s.name.
func (s *script) bind(portal string, b *pgproto3.Bind, r reply) {
	b.DestinationPortal, b.PreparedStatement = portal, s.name
	s.add(b, replyBind, r)
}

func (s *script) describeStatement() {
	s.add(&pgproto3.Describe{ObjectType: 'S', Name: s.name}, replyDescribeStatement, nil)
}

// run describes and executes the portal s.name, and closes all.
func (s *script) run(describe, execute reply) {
	s.add(&pgproto3.Describe{ObjectType: 'P', Name: s.name}, replyDescribePortal, describe)
	s.add(&pgproto3.Execute{Portal: s.name, MaxRows: s.rows}, replyExecute, execute)
	s.close('P')
	s.close('S')
}

// failCopy has a COPY FROM STDIN that the statement may be told that it failed.
func (s *script) failCopy() {
	for i := range s.steps {
		s.steps[i].failCopy = s.steps[i].reply.kind() == replyExecute
	}
}
