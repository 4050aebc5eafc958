package sitetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Replies reads to the given number of ReadyForQuery messages and writes
// down a letter for each message, notices left out.
func Replies(t *testing.T, f *pgproto3.Frontend, syncs int) string {
	t.Helper()
	seen := ""
	for syncs > 0 {
		msg, err := f.Receive()
		if err != nil {
			t.Fatalf("after %s: %v", seen, err)
		}
		switch m := msg.(type) {
		case *pgproto3.DataRow:
			seen += "D"
		case *pgproto3.PortalSuspended:
			seen += "s"
		case *pgproto3.CommandComplete:
			seen += "C"
		case *pgproto3.RowDescription:
			seen += "T"
		case *pgproto3.ErrorResponse:
			seen += "E" + m.Code
		case *pgproto3.ReadyForQuery:
			seen += string(m.TxStatus)
			syncs--
		}
	}
	return seen
}

// Message writes a message with any type and a body.
func Message(typ byte, body string) string {
	return string(typ) + Int32(4+len(body)) + body
}

// Int32 writes four bytes, the highest first.
func Int32(n int) string {
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// StartUp writes a packet without a type.
func StartUp(code int, body string) string {
	return Int32(8+len(body)) + Int32(code) + body
}

// Hijack logs in and hands over the bare connection.
func Hijack(t *testing.T, url string) *pgconn.HijackedConn {
	t.Helper()
	pg, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.SyncConn(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := pg.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	h.Conn.SetDeadline(time.Now().Add(10 * time.Second))
	return h
}
