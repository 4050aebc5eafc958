package reader

import (
	"context"
	"maps"
	"strconv"

	"dpproxy/planner"
)

// keptStatements bounds the statements that a session has prepared: each takes memory of the
// protected database's.
const keptStatements = 100

// prepared are the names of the statements that a session has prepared.
type prepared struct {
	names map[planned]string
	// shared says that it is the session's own, which an exchange changes if it ends well.
	shared bool
}

// planned is a statement with the settings under which it is planned: one without parameters is planned once.
type planned struct{ sql, settings string }

// forNext returns what an exchange begins with. Where there are many it is nothing: the names
// begin anew, and a statement takes the place of the one that has its name.
func (p *prepared) forNext() *prepared {
	if p == nil || len(p.names) >= keptStatements {
		return &prepared{names: map[planned]string{}}
	}
	return &prepared{names: p.names, shared: true}
}

// name returns the name of a statement, and has it prepared unless it is.
func (p *prepared) name(q *requests, st planned) string {
	if name, had := p.names[st]; had {
		return name
	}
	if p.shared {
		p.names, p.shared = maps.Clone(p.names), false
	}
	name := "dp" + strconv.Itoa(len(p.names))
	p.names[st] = name
	q.prepare(name, st.sql)
	return name
}

// preparedKey is the place of a session's own.
const preparedKey = "prepared"

func (c *connection) prepared() *prepared {
	p, _ := c.conn.Conn().PgConn().CustomData()[preparedKey].(*prepared)
	return p
}

func (c *connection) setPrepared(p *prepared) { c.conn.Conn().PgConn().CustomData()[preparedKey] = p }

// replace gives the session up and takes another.
func (c *connection) replace(ctx context.Context, plan *planner.Plan) error {
	c.drop() //nolint:contextcheck // the end of a session outlives the statement
	other, err := c.data.connect(ctx, plan, c.leave)
	if err == nil {
		*c = *other
	}
	return err
}
