package wire

import "sync"

// names are the prepared statements and portals of a session as the mirror has
// them: they change only with its ParseComplete, BindComplete and CloseComplete.
type names struct {
	mu         sync.Mutex
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
	widened     *Widened
	description *capture
}

func newNames() *names {
	return &names{
		statements: map[string]*prepared{},
		special:    map[string]int{},
		portals:    map[string]*origin{},
	}
}

// sent counts the requests that are not answered yet.
func (n *names) sent(r reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count(r, 1)
}

// dropped undoes sent: the mirror skips the request.
func (n *names) dropped(r reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count(r, -1)
}

func (n *names) count(r reply, change int) {
	switch r := r.(type) {
	case *parseReply:
		if r.statement != "" {
			n.parses += change
		}
		if r.prepared == nil {
			return
		}
		if n.special[r.statement] += change; n.special[r.statement] == 0 {
			delete(n.special, r.statement)
		}
	case *bindReply:
		if r.portal != "" {
			n.binds += change
		}
	case replyKind, *closeReply, *portalReply, *substituteReply, *hiddenReply, *capturedReply, *refusalReply: // they make no name
	}
}

// done follows the last message of a reply.
func (n *names) done(r reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count(r, -1)
	switch r := r.(type) {
	case *parseReply:
		if r.statement == "" && r.prepared == nil {
			delete(n.statements, "")
		} else {
			n.statements[r.statement] = r.prepared
		}
	case *bindReply:
		if r.portal == "" && r.origin == nil {
			delete(n.portals, "")
		} else {
			n.portals[r.portal] = r.origin
		}
	case *closeReply:
		switch r.object {
		case 'S':
			delete(n.statements, r.name)
		case 'P':
			delete(n.portals, r.name)
		}
	case replyKind, *portalReply, *substituteReply, *hiddenReply, *capturedReply, *refusalReply: // they name nothing
	}
}

// ready follows a ReadyForQuery, of a Query or not, inside a transaction or not. Every Query
// replaces the unnamed statement and portal, and portals end with their transaction.
func (n *names) ready(query, outside bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if query && len(n.statements) > 0 {
		delete(n.statements, "")
	}
	if query && len(n.portals) > 0 {
		delete(n.portals, "")
	}
	if outside && len(n.portals) > 0 {
		clear(n.portals)
	}
}

// intercepted returns whether a Bind of the name may be of an intercepted
// statement.
func (n *names) intercepted(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.special[name] > 0 || n.statements[name] != nil
}

// statement returns the intercepted statement of that name, nil if it is plain
// or unknown.
func (n *names) statement(name string) *prepared {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.statements[name]
}

// portal returns the origin of the statement that a portal was bound to, nil if it is
// the client's own, and whether there is such a portal.
func (n *names) portal(name string) (*origin, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, ok := n.portals[name]
	return o, ok
}

// statementRoom reports whether one more named statement is allowed.
func (n *names) statementRoom(limit int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.statements)+n.parses < limit
}

// portalRoom reports whether one more named portal is allowed.
func (n *names) portalRoom(limit int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.portals)+n.binds < limit
}

// markStale remembers that statements may have gone by DEALLOCATE or DISCARD.
func (n *names) markStale() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stale = n.stale || len(n.statements) > 0
}

func (n *names) isStale() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stale
}

// keep forgets every statement that the mirror does not list with the same text.
func (n *names) keep(listed map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, st := range n.statements {
		text, ok := listed[name]
		if name != "" && (!ok || st != nil && st.text != text) {
			delete(n.statements, name)
		}
	}
	n.stale = false
}
