package proxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// pieces runs a portal one row at a time, as drivers with a fetch size do.
type pieces struct {
	t    *testing.T
	conn *pgconn.PgConn
}

func (p pieces) run(sql string) (rows int) {
	p.t.Helper()
	f := p.conn.Frontend()
	f.Send(&pgproto3.Parse{Query: sql})
	f.Send(&pgproto3.Bind{DestinationPortal: "c1"})
	for range 5 {
		f.Send(&pgproto3.Execute{Portal: "c1", MaxRows: 1})
	}
	f.Send(&pgproto3.Sync{})
	if err := f.Flush(); err != nil {
		p.t.Fatal(err)
	}
	for {
		msg, err := f.Receive()
		if err != nil {
			p.t.Fatal(err)
		}
		switch m := msg.(type) {
		case *pgproto3.DataRow:
			rows++
		case *pgproto3.ErrorResponse:
			p.t.Fatal(m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			return rows
		}
	}
}
