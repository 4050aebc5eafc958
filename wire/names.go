package wire

// names are the prepared statements and portals of a session as the mirror has
// them: they change only with its ParseComplete, BindComplete and CloseComplete.
// All of it is guarded by the pipeline's lock.
type names struct {
	statements map[string]*prepared // nil: a plain one
	special    map[string]int       // intercepted Parses not yet answered, by name
	parses     int                  // named Parses not yet answered
	portals    map[string]*origin   // nil: a plain one
	binds      int                  // named Binds not yet answered
	stale      bool                 // a statement may be gone by SQL
}

// prepared is an intercepted statement that a Parse has made.
type prepared struct {
	statement   Statement
	text        string // of the whole Parse
	description *capture
}

func newNames() names {
	return names{
		statements: map[string]*prepared{},
		special:    map[string]int{},
		portals:    map[string]*origin{},
	}
}

// sent counts what is not answered yet.
func (n *names) sent(r reply) {
	if r.kind == replyParse && r.prepared != nil {
		n.special[r.statement]++
	}
	if r.kind == replyParse && r.statement != "" {
		n.parses++
	}
	if r.kind == replyBind && r.portal != "" {
		n.binds++
	}
}

// dropped undoes sent: the mirror skips the request.
func (n *names) dropped(r reply) {
	switch r.kind {
	case replyParse:
		if r.statement != "" {
			n.parses--
		}
		if r.prepared == nil {
			return
		}
		if n.special[r.statement]--; n.special[r.statement] == 0 {
			delete(n.special, r.statement)
		}
	case replyBind:
		if r.portal != "" {
			n.binds--
		}
	case replyClose, replyDescribeStatement, replyDescribePortal, replyExecute, replySync, replyQuery: // not counted
	}
}

// done follows the last message of a reply.
func (n *names) done(r reply) {
	n.dropped(r)
	if r.private && r.closes == 0 {
		return
	}
	switch r.kind {
	case replyParse:
		if r.statement == "" && r.prepared == nil {
			delete(n.statements, "")
		} else {
			n.statements[r.statement] = r.prepared
		}
	case replyBind:
		if r.portal == "" && r.origin == nil {
			delete(n.portals, "")
		} else {
			n.portals[r.portal] = r.origin
		}
	case replyClose:
		switch r.closes {
		case 'S':
			delete(n.statements, r.statement)
		case 'P':
			delete(n.portals, r.portal)
		}
	case replyDescribeStatement, replyDescribePortal, replyExecute, replySync, replyQuery: // they name nothing
	}
}

// queried forgets the unnamed statement and portal, which every Query replaces.
func (n *names) queried() {
	if len(n.statements) > 0 {
		delete(n.statements, "")
	}
	if len(n.portals) > 0 {
		delete(n.portals, "")
	}
}

// transactionEnded forgets the portals, which end with it.
func (n *names) transactionEnded() {
	if len(n.portals) > 0 {
		clear(n.portals)
	}
}

// ready follows a ReadyForQuery, of a Query or not, inside a transaction or not.
func (p *pipeline) ready(query, outside bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if query {
		p.names.queried()
	}
	if outside {
		p.names.transactionEnded()
	}
}

// intercepted returns whether a Bind of the name may be of an intercepted
// statement.
func (p *pipeline) intercepted(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names.special[name] > 0 || p.names.statements[name] != nil
}

// statement returns the intercepted statement of that name, nil if it is plain
// or unknown.
func (p *pipeline) statement(name string) *prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names.statements[name]
}

// portal returns what a portal was bound to, nil if it is plain, and whether
// there is one.
func (p *pipeline) portal(name string) (*origin, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, ok := p.names.portals[name]
	return o, ok
}

// statementRoom reports whether one more named statement is allowed.
func (p *pipeline) statementRoom(limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.names.statements)+p.names.parses < limit
}

// portalRoom reports whether one more named portal is allowed.
func (p *pipeline) portalRoom(limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.names.portals)+p.names.binds < limit
}

// markStale remembers that statements may have gone by DEALLOCATE or DISCARD.
func (p *pipeline) markStale() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names.stale = p.names.stale || len(p.names.statements) > 0
}

func (p *pipeline) isStale() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names.stale
}

// keep forgets every statement that the mirror does not list with the same text.
func (p *pipeline) keep(listed map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, st := range p.names.statements {
		text, ok := listed[name]
		if name != "" && (!ok || st != nil && st.text != text) {
			delete(p.names.statements, name)
		}
	}
	p.names.stale = false
}
