package sitetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Replies reads to the given number of ReadyForQuery messages. It returns a letter for each
// message: T RowDescription, D DataRow, C CommandComplete, s PortalSuspended, E with the SQLSTATE,
// and the transaction status of ReadyForQuery. Others are left out.
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

// Message is a message of the protocol, of any type: TYPE, length, body.
func Message(typ byte, body string) string {
	return string(typ) + Int32(4+len(body)) + body
}

// Int32 is a number as the protocol has it: four bytes, the highest first.
func Int32(n int) string {
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// StartUp is a packet without a type, as sessions begin with: length, code, body.
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
	h.Conn.SetDeadline(time.Now().Add(time.Minute))
	return h
}
