package wire

// ParseStartup lets the fuzz test reach the parser of start-up packets.
func ParseStartup(body []byte) error {
	s, err := parseStartup(body)
	if err == nil {
		s.negotiation()
		_, err = requestedSettings(s.params)
	}
	return err
}

// RequestedSettings lets tests see the settings that reach the mirror.
var RequestedSettings = requestedSettings

// Owed returns how many replies the mirror owes to all sessions.
func (v *Server) Owed() int {
	n := 0
	for _, s := range v.sessions.all() {
		s.pipeline.mu.Lock()
		n += s.pipeline.len()
		s.pipeline.mu.Unlock()
	}
	return n
}

// Sessions returns the number of sessions.
func (v *Server) Sessions() int { return len(v.sessions.all()) }

// Encrypted returns how many connections have exchanged keys and not said who they are.
func (v *Server) Encrypted() (n int) {
	v.lobby.mu.Lock()
	defer v.lobby.mu.Unlock()
	for _, g := range v.lobby.guests {
		if g.stage == encrypted {
			n++
		}
	}
	return n
}
