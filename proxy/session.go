package proxy

import "dpproxy/wire"

// sessionState is what dpproxy knows of a client's session. It belongs to the one goroutine of the session that
// runs statements.
type sessionState struct {
	// proofs are the statements whose rewrites have the columns of the originals.
	proofs map[string]bool
	// widens says that the session may want columns for errors: it is asked before each protected statement.
	widens bool
	last   *account // of the last answer; nil before the first
	// discards are those that there had been when it came.
	discards int64
	// confidence is that of the errors in the last brief line, after so many discards; 0 before the first.
	confidence float64
	confided   int64
}

// confide says at which confidence errors are, if the session does not know that it is this one.
func confide(s *wire.Session, confidence float64) string {
	state := stateOf(s)
	if state.confidence == confidence && state.confided == s.Discards() {
		return ""
	}
	state.confidence, state.confided = confidence, s.Discards()
	return "; errors at " + perCent(confidence)
}

// lastOf returns the account of a session's last answer, nil where there was none since a DISCARD ALL.
func lastOf(s *wire.Session) *account {
	if state := stateOf(s); state.discards == s.Discards() {
		return state.last
	}
	return nil
}

// setLast keeps the account of the session's last answer.
func setLast(s *wire.Session, a *account) {
	state := stateOf(s)
	state.last, state.discards = a, s.Discards()
}

func stateOf(s *wire.Session) *sessionState {
	state, ok := s.Value().(*sessionState)
	if !ok {
		state = &sessionState{proofs: map[string]bool{}}
		s.SetValue(state)
	}
	return state
}
