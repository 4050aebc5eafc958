package reader

import (
	"context"
	"maps"
	"strconv"

	"dpproxy/planner"
)

// keptStatements bounds how many statements a session has prepared: each takes memory of the protected database.
const keptStatements = 100

// prepared has the names of the statements that a session has prepared.
type prepared struct {
	names map[planned]string
	// shared says that names is the session's own map, which changes only if an exchange ends well.
	shared bool
}

// A planned is a statement with the settings under which it is planned: a statement without parameters is planned once.
type planned struct{ sql, settings string }

// forNext returns the names with which an exchange begins. If they are too many, it returns none. Then numbering begins anew, and a
// statement replaces the statement that has its name.
func (p *prepared) forNext() *prepared {
	if p == nil || len(p.names) >= keptStatements {
		return &prepared{names: map[planned]string{}}
	}
	return &prepared{names: p.names, shared: true}
}

// name returns the name of a statement, and adds its preparation unless it is prepared.
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

// preparedKey is the key of a session's prepared.
const preparedKey = "prepared"

func (c *connection) prepared() *prepared {
	p, _ := c.conn.Conn().PgConn().CustomData()[preparedKey].(*prepared)
	return p
}

func (c *connection) setPrepared(p *prepared) { c.conn.Conn().PgConn().CustomData()[preparedKey] = p }

// replace abandons the session and takes another one.
func (c *connection) replace(ctx context.Context, plan *planner.Plan) error {
	c.drop() //nolint:contextcheck // the end of a session outlives the statement
	other, err := c.data.connect(ctx, plan, c.leave)
	if err == nil {
		*c = *other
	}
	return err
}
