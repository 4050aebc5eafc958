package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// patience bounds a whole conversation.
const patience = 60 * time.Second

// A Conn is a session in which a test sends messages of its own.
type Conn struct {
	net.Conn
	*pgproto3.Frontend
	PID uint32
	Key []byte // of cancel requests
}

// Open logs in.
func Open(t testing.TB, c *pgconn.Config) *Conn {
	t.Helper()
	pg, err := pgconn.ConnectConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := pg.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Conn.SetDeadline(time.Now().Add(patience)); err != nil { //nolint:forbidigo // a test that hangs must end
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Conn.Close() })
	return &Conn{Conn: h.Conn, Frontend: h.Frontend, PID: h.PID, Key: h.SecretKey}
}

// Compare runs a script on Postgres and on dpproxy. Both must say the same, unless
// the script is marked with "differs": then they must not, and both are returned.
func Compare(t *testing.T, d *datadriven.TestData, postgres, dpproxy *Conn) string {
	t.Helper()
	want, got := postgres.Talk(t, d), dpproxy.Talk(t, d)
	differs := d.HasArg("differs")
	switch {
	case got != want && !differs:
		t.Errorf("%s:\nPostgres says\n%s\ndpproxy says\n%s", d.Pos, want, got)
	case got == want && differs:
		t.Errorf("%s: there is no difference", d.Pos)
	case differs:
		return "Postgres:\n" + want + "dpproxy:\n" + got
	}
	return got
}

// Talk sends the lines of a script at once and returns the replies, to the last
// ReadyForQuery that is due.
func (c *Conn) Talk(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out []byte
	ready := 0
	for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
		m, err := message(line)
		if err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		if out, err = m.Encode(out); err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		switch m.(type) {
		case *pgproto3.Query, *pgproto3.Sync, *pgproto3.FunctionCall:
			ready++
		}
	}
	if d.HasArg("ready") {
		d.ScanArgs(t, "ready", &ready)
	}
	if _, err := c.Write(out); err != nil {
		d.Fatalf(t, "write: %v", err)
	}
	return c.Read(ready)
}

// Read returns messages up to the given number of ReadyForQuery, a line for each.
func (c *Conn) Read(ready int) string {
	var b strings.Builder
	for ready > 0 {
		m, err := c.Receive()
		if err != nil {
			fmt.Fprintf(&b, "connection: %v\n", err)
			return b.String()
		}
		fmt.Fprintln(&b, show(m))
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			ready--
		}
	}
	return b.String()
}

// message reads a line of a script; "-" is the empty name. See
// testdata/README.md.
func message(line string) (pgproto3.FrontendMessage, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, tail, _ := strings.Cut(rest, " ")
	if name == "-" {
		name = ""
	}
	switch verb {
	case "Query":
		return &pgproto3.Query{String: rest}, nil
	case "Parse":
		return &pgproto3.Parse{Name: name, Query: tail}, nil
	case "Bind":
		return bindMessage(name, tail)
	case "DescribeStatement":
		return &pgproto3.Describe{ObjectType: 'S', Name: name}, nil
	case "DescribePortal":
		return &pgproto3.Describe{ObjectType: 'P', Name: name}, nil
	case "CloseStatement":
		return &pgproto3.Close{ObjectType: 'S', Name: name}, nil
	case "ClosePortal":
		return &pgproto3.Close{ObjectType: 'P', Name: name}, nil
	case "Execute":
		n, _ := strconv.Atoi(tail)
		return &pgproto3.Execute{Portal: name, MaxRows: uint32(n)}, nil
	case "Sync":
		return &pgproto3.Sync{}, nil
	case "Flush":
		return &pgproto3.Flush{}, nil
	case "CopyData":
		return &pgproto3.CopyData{Data: []byte(rest)}, nil
	case "CopyDone":
		return &pgproto3.CopyDone{}, nil
	case "CopyFail":
		return &pgproto3.CopyFail{Message: rest}, nil
	case "FunctionCall":
		return &pgproto3.FunctionCall{Function: 1598, ResultFormatCode: 0}, nil
	}
	return nil, fmt.Errorf("no such message: %s", verb)
}

// bindMessage reads "statement parameters..."; a parameter \N is NULL, one
// that begins with \x is binary, and "binary" at the end asks for binary results.
func bindMessage(portal, tail string) (*pgproto3.Bind, error) {
	words := strings.Fields(tail)
	if len(words) == 0 {
		return nil, errors.New("no statement to bind")
	}
	b := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: strings.Trim(words[0], "-")}
	for _, w := range words[1:] {
		format := int16(0)
		value := []byte(w)
		switch {
		case w == "binary":
			b.ResultFormatCodes = []int16{1}
			continue
		case w == `\N`:
			value = nil
		case strings.HasPrefix(w, `\x`):
			format = 1
			if _, err := fmt.Sscanf(w[2:], "%x", &value); err != nil {
				return nil, err
			}
		}
		b.Parameters = append(b.Parameters, value)
		b.ParameterFormatCodes = append(b.ParameterFormatCodes, format)
	}
	if !bytes.Contains([]byte(tail), []byte(`\x`)) {
		b.ParameterFormatCodes = nil
	}
	return b, nil
}

func show(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.RowDescription:
		var fields []string
		for _, f := range m.Fields {
			fields = append(fields, fmt.Sprintf("%s table=%s.%d type=%d/%d format=%d",
				f.Name, tableName(f.TableOID), f.TableAttributeNumber, f.DataTypeOID, f.TypeModifier, f.Format))
		}
		return "RowDescription " + strings.Join(fields, ", ")
	case *pgproto3.DataRow:
		var values []string
		for _, v := range m.Values {
			if v == nil {
				values = append(values, "NULL")
			} else {
				values = append(values, fmt.Sprintf("%q", v))
			}
		}
		return "DataRow " + strings.Join(values, " ")
	case *pgproto3.ErrorResponse:
		return "ErrorResponse " + showReport(m)
	case *pgproto3.NoticeResponse:
		return "NoticeResponse " + showReport((*pgproto3.ErrorResponse)(m))
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.ParameterStatus:
		return "ParameterStatus " + m.Name + "=" + m.Value
	case *pgproto3.CopyData:
		return fmt.Sprintf("CopyData %q", m.Data)
	case *pgproto3.ParameterDescription:
		return fmt.Sprint("ParameterDescription ", m.ParameterOIDs)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

// tableName keeps object identifiers, which vary, out of the scripts.
func tableName(oid uint32) string {
	if oid == 0 {
		return "none"
	}
	if oid < 16384 {
		return strconv.Itoa(int(oid))
	}
	return "some"
}

func showReport(m *pgproto3.ErrorResponse) string {
	s := fmt.Sprintf("%s %s %s", m.Severity, m.Code, m.Message)
	if m.Position > 0 {
		s += fmt.Sprintf(" | position %d", m.Position)
	}
	if m.Detail != "" {
		s += " | detail: " + m.Detail
	}
	if m.Hint != "" {
		s += " | hint: " + m.Hint
	}
	return s
}
