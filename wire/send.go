package wire

import "github.com/jackc/pgx/v5/pgproto3"

// send passes one request on and notes the reply that is owed for it.
func (p *pipeline) send(raw []byte, r reply) error {
	if p.full() {
		// The mirror may hold its replies back until it is asked for them.
		if err := p.sendFlush(); err != nil {
			return err
		}
		p.waitRoom()
	}
	p.mirror.mu.Lock()
	defer p.mirror.mu.Unlock()
	p.push(r)
	if _, err := p.mirror.out.Write(raw); err != nil {
		return errMirrorLost
	}
	return nil
}

// sendMessage is send for a request of our own.
func (p *pipeline) sendMessage(m pgproto3.Message, r reply) error {
	return p.send(encode(nil, m), r)
}

func (p *pipeline) sendScript(s *script) error {
	for _, st := range s.steps {
		if err := p.sendMessage(st.request, st.reply); err != nil {
			return err
		}
		if !st.failCopy {
			continue
		}
		if err := p.sendCopyFail(); err != nil {
			return err
		}
	}
	return nil
}

// sendFlush asks the mirror for the replies it owes.
func (p *pipeline) sendFlush() error {
	if err := p.sendUnanswered(encode(nil, &pgproto3.Flush{})); err != nil {
		return err
	}
	return p.flush()
}

// sendUnanswered sends a message that no reply is owed for.
func (p *pipeline) sendUnanswered(raw []byte) error {
	if p.mirror.write(raw) != nil {
		return errMirrorLost
	}
	return nil
}

// flush puts all that was sent on its way.
func (p *pipeline) flush() error {
	if p.mirror.flush() != nil {
		return errMirrorLost
	}
	return nil
}

var copyFail = &pgproto3.CopyFail{Message: "refused"}

// sendCopyFail ends a COPY FROM STDIN that the mirror may have begun. Otherwise it
// is ignored there.
func (p *pipeline) sendCopyFail() error {
	p.mirror.mu.Lock()
	defer p.mirror.mu.Unlock()
	p.markCopyFailed()
	if _, err := p.mirror.out.Write(encode(nil, copyFail)); err != nil {
		return errMirrorLost
	}
	return nil
}

// refuseCopy ends the COPY FROM STDIN that the mirror has begun, and the client reads message
// of it. A Sync that the mirror took for a part of the data is sent again.
func (p *pipeline) refuseCopy(message []byte) error {
	p.answerInstead(message)
	p.mirror.mu.Lock()
	defer p.mirror.mu.Unlock()
	out := encode(nil, copyFail)
	if p.copyAteSync() {
		out = encode(out, &pgproto3.Sync{})
	}
	if _, err := p.mirror.out.Write(out); err != nil {
		return errMirrorLost
	}
	if p.mirror.out.Flush() != nil {
		return errMirrorLost
	}
	return nil
}
