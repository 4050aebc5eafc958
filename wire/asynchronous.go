package wire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// notice passes a notice on unless it belongs to a private question, or is one that the server
// logs of its own work: which files it reads, how it plans a rewritten statement.
func (r *replies) notice(size int) error {
	head, owed := r.pipeline.head()
	if owed && isPrivate(head.reply) {
		return r.mirror.skip(size)
	}
	raw, err := r.mirror.take(size)
	if err != nil || readReport(raw).logged() {
		return err
	}
	if owed {
		raw = behindNotices(head.reply, raw)
	}
	return r.client.write(raw)
}

// isPrivate reports whether the client sees none of a reply but, of some, an error.
func isPrivate(owed reply) bool {
	switch owed := owed.(type) {
	case *hiddenReply, *capturedReply:
		return true
	case *closeReply:
		return owed.hidden
	case *refusalReply:
		return owed.replyKind != replyQuery
	case replyKind, *parseReply, *bindReply, *portalReply, *substituteReply:
		return false
	}
	return false
}

// notification passes a notification on if it comes from a session of the same
// user: analysts are not to talk to each other through the mirror.
func (r *replies) notification(size int) error {
	raw, err := r.mirror.take(size)
	if err != nil {
		return err
	}
	var m pgproto3.NotificationResponse
	if m.Decode(raw[headerBytes:]) != nil {
		return errOutOfStep
	}
	from, known := r.senders.find(m.PID)
	if !known || from.user != r.session.User() {
		return nil
	}
	m.PID = from.pid
	return r.client.write(encode(nil, &m))
}

// parameterStatus follows the mirror's settings. The client is told that they are
// no superuser, as at log-in.
func (r *replies) parameterStatus(size int) error {
	raw, err := r.mirror.take(size)
	if err != nil {
		return err
	}
	name, rest, _ := cstring(raw[headerBytes:])
	value, _, _ := cstring(rest)
	r.session.setParameter(name, value)
	if name == "is_superuser" {
		return nil
	}
	return r.client.write(raw)
}

// errorResponse passes an error on, replaced or edited as the request it
// answers asks for, and drops the replies that the mirror will skip.
func (r *replies) errorResponse(size int) error {
	raw, err := r.mirror.take(size)
	if err != nil {
		return err
	}
	report := readReport(raw)
	if report.ends() {
		return errMirrorLost
	}
	head, ok := r.pipeline.head()
	if !ok {
		defer r.pipeline.fail(errPipeline)
		return r.client.write(report.raw)
	}
	if k := head.reply.kind(); k != replyQuery && k != replySync {
		defer r.pipeline.fail(r.questionError(head.reply, report))
	}
	if c, ok := head.reply.(*capturedReply); ok && !c.loud {
		return nil
	}
	return r.client.write(behindNotices(head.reply, r.editError(head, report)))
}

// questionError is the error that a private question fails with.
func (r *replies) questionError(owed reply, report mirrorReport) error {
	c, ok := owed.(*capturedReply)
	if !ok {
		return errPipeline
	}
	return &MirrorError{Code: report.code, Message: report.message, message: r.advised(report, c.errors.edit(report.raw), false)}
}

// editError returns the ErrorResponse that the client gets for one of the mirror.
func (r *replies) editError(head owed, report mirrorReport) []byte {
	if head.instead != nil {
		return head.instead
	}
	return r.advised(report, r.edited(head, report), r.rewritten(head))
}

// rewritten reports whether a reply is that of a statement of ours in the place of one of the client's.
func (r *replies) rewritten(head owed) bool {
	switch owed := head.reply.(type) {
	case *substituteReply:
		return owed.origin != nil
	case *bindReply:
		return owed.origin != nil
	case *portalReply:
		return owed.replyKind == replyExecute && r.originOf(owed) != nil
	}
	return false
}

// advised returns an ErrorResponse with the hint of the handler, if that has one.
func (r *replies) advised(report mirrorReport, message []byte, rewritten bool) []byte {
	if r.adviser == nil {
		return message
	}
	if hint := r.adviser.Advise(r.session, report.code, report.message, rewritten); hint != "" {
		return withHint(message, hint)
	}
	return message
}

// edited returns the ErrorResponse without advice.
func (r *replies) edited(head owed, report mirrorReport) []byte {
	switch owed := head.reply.(type) {
	case *refusalReply:
		if owed.refusal.replaces(report) {
			return owed.refusal.message
		}
	case *hiddenReply:
		if owed.defect {
			return r.defect(report)
		}
		return owed.errors.edit(report.raw)
	case *substituteReply:
		return owed.errors.edit(report.raw)
	case *bindReply, *portalReply:
		return errorEdit{private: r.rewritten(head)}.edit(report.raw)
	case *parseReply:
		return owed.errors.edit(report.raw)
	case *capturedReply:
		return owed.errors.edit(report.raw)
	case replyKind, *closeReply: // it is the client's own
	}
	return report.raw
}

// defect returns the ErrorResponse for a rewritten statement that the mirror does not take.
func (r *replies) defect(report mirrorReport) []byte {
	if report.code == pgerr.QueryCanceled.String() {
		return errorEdit{private: true}.edit(report.raw) // a cancel request that came late
	}
	r.session.log.Error("the mirror refused a rewritten statement", "code", report.code)
	return encodeError(internalError(), "", 0)
}
