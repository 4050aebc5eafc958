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
}

func stateOf(s *wire.Session) *sessionState {
	state, ok := s.Value().(*sessionState)
	if !ok {
		state = &sessionState{proofs: map[string]bool{}}
		s.SetValue(state)
	}
	return state
}
