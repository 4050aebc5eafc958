package wire

import "github.com/jackc/pgx/v5/pgproto3"

// A reply is one that the mirror owes, by its treatment when it comes: a replyKind
// is relayed as it is; the others differ from that.
//
//sumtype:decl
type reply interface{ kind() replyKind }

// A replyKind names the request that a reply answers.
type replyKind uint8

const (
	replyParse replyKind = iota
	replyBind
	replyClose
	replyDescribeStatement
	replyDescribePortal
	replyExecute
	replySync
	replyQuery
)

func (k replyKind) kind() replyKind { return k }

// takes reports whether a message type belongs to a reply of this kind, and
// whether it is the last one.
func (k replyKind) takes(typ byte) (ok, last bool) {
	switch k {
	case replyParse:
		return typ == '1', true
	case replyBind:
		return typ == '2', true
	case replyClose:
		return typ == '3', true
	case replyDescribeStatement:
		return typ == 't' || typ == 'T' || typ == 'n', typ != 't'
	case replyDescribePortal:
		return typ == 'T' || typ == 'n', true
	case replySync:
		return typ == 'Z', true
	case replyExecute:
		switch typ {
		case 'C', 'I', 's':
			return true, true
		case 'D', 'H', 'd', 'c', 'G':
			return true, false
		}
	case replyQuery:
		switch typ {
		case 'Z':
			return true, true
		case 'T', 'D', 'C', 'I', 'H', 'd', 'c', 'G':
			return true, false
		}
	}
	return false, false
}

// parseReply answers a Parse of the client's, and gives the statement its name.
type parseReply struct {
	statement string
	prepared  *prepared // nil for a statement that is not intercepted
	errors    errorEdit
}

func (*parseReply) kind() replyKind { return replyParse }

// bindReply answers a Bind of the client's, and gives the portal its name.
type bindReply struct {
	portal string
	origin *origin // nil where the client's own statement is bound
	notices
}

func (*bindReply) kind() replyKind { return replyBind }

// closeReply answers a Close of the client's, or one that stands for a part of a Query.
type closeReply struct {
	object byte // 'S' or 'P'
	name   string
	hidden bool
}

func (*closeReply) kind() replyKind { return replyClose }

// portalReply answers a Describe or Execute of a client's portal, which may by then be
// bound to a rewritten statement.
type portalReply struct {
	replyKind
	portal string
}

// substituteReply answers for a statement that runs in place of one of the client's.
type substituteReply struct {
	replyKind
	origin  *origin // nil where it is the client's own statement
	errors  errorEdit
	quiet   bool // no NoData for the client, since a Query has none
	unready bool // the client gets the ReadyForQuery of the Sync behind it
	notices
}

// hiddenReply answers a request of ours. The client sees an error of it alone.
type hiddenReply struct {
	replyKind
	errors errorEdit
	defect bool // an error is a defect of the rewritten statement
}

// capturedReply answers a part of a private question. The client sees none of it.
type capturedReply struct {
	replyKind
	capture *capture
	errors  errorEdit // of a [MirrorError]
	ends    bool      // the capture is complete after this reply
	loud    bool      // an error is the client's all the same
}

// refusalReply answers dp.raise, with an error that the refusal replaces.
type refusalReply struct {
	replyKind
	refusal *refusal
}

// hide returns the reply of a request of ours that nothing is to be seen of.
func hide(k replyKind) reply { return &hiddenReply{replyKind: k} }

// origin is the part of the client's statement that shows in the replies of the rewritten one.
type origin struct {
	fields []pgproto3.FieldDescription
	tag    string // empty: the rewritten statement's
}

// notices are messages that go to the client before the first of a reply.
type notices struct{ encoded []byte }

// takeNotices returns them once.
func (n *notices) takeNotices() []byte {
	out := n.encoded
	n.encoded = nil
	return out
}

// noticesOf returns the messages that must come before the reply, once.
func noticesOf(r reply) []byte {
	if r, ok := r.(interface{ takeNotices() []byte }); ok {
		return r.takeNotices()
	}
	return nil
}
