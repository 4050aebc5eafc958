package wire_test

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/wire"
)

func packet(typ byte, body []byte) []byte {
	out := []byte{typ}
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)+4))
	return append(out, body...)
}

func requestPacket(code uint32, more ...byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(more)))
	return append(binary.BigEndian.AppendUint32(out, code), more...)
}

func startupPacket(version uint32, pairs ...string) []byte {
	return requestPacket(version, []byte(strings.Join(pairs, "\x00")+"\x00\x00")...)
}

func readMessage(t testing.TB, c net.Conn) (typ byte, body []byte) {
	t.Helper()
	var h [5]byte
	if _, err := io.ReadFull(c, h[:]); err != nil {
		t.Fatalf("reading a message: %v", err)
	}
	body = make([]byte, binary.BigEndian.Uint32(h[1:])-4)
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatalf("reading a message: %v", err)
	}
	return h[0], body
}

// TestProtocolVersions asks for versions newer and older than ours.
func TestProtocolVersions(t *testing.T) {
	p := start(t, nil)
	const options = "\x00\x00\x00\x01_pq_.grease\x00"
	for _, test := range []struct {
		version uint32
		option  bool
		want    string // of the negotiation; empty if there is none
	}{
		{3 << 16, false, ""},
		{3<<16 | 1, false, ""},
		{3<<16 | 2, false, ""},
		{3 << 16, true, "\x00\x03\x00\x00" + options},
		{3<<16 | 2, true, "\x00\x03\x00\x02" + options},
		{3<<16 | 9999, true, "\x00\x03\x00\x02" + options},
		{3<<16 | 9999, false, "\x00\x03\x00\x02\x00\x00\x00\x00"},
	} {
		c := p.dialTCP(t)
		pairs := []string{"user", "ana"}
		if test.option {
			pairs = append(pairs, "_pq_.grease", "1")
		}
		c.Write(startupPacket(test.version, pairs...))
		typ, body := readMessage(t, c)
		if test.want != "" {
			if typ != 'v' || string(body) != test.want {
				t.Errorf("version %x: answer %c %q, want %q", test.version, typ, body, test.want)
			}
			typ, _ = readMessage(t, c)
		}
		if typ != 'R' {
			t.Errorf("version %x: then %c", test.version, typ)
		}
	}
	for _, version := range []uint32{2 << 16, 4 << 16} {
		c := p.dialTCP(t)
		c.Write(startupPacket(version, "user", "ana"))
		if all, _ := io.ReadAll(c); !strings.Contains(string(all), "unsupported frontend protocol") {
			t.Errorf("version %x: %q", version, all)
		}
	}
}

// TestEncryptionRefused asks for GSSENC and TLS of a server that has neither.
func TestEncryptionRefused(t *testing.T) {
	p := start(t, nil)
	c := p.dialTCP(t)
	answer := make([]byte, 1)
	for _, request := range []uint32{80877104, 80877103} {
		c.Write(requestPacket(request))
		if _, err := io.ReadFull(c, answer); err != nil || answer[0] != 'N' {
			t.Fatalf("request %d: %q, %v", request, answer, err)
		}
	}
	c.Write(startupPacket(3<<16, "user", "ana"))
	if typ, _ := readMessage(t, c); typ != 'R' {
		t.Errorf("start-up: %c", typ)
	}
	again := p.dialTCP(t)
	again.Write(append(requestPacket(80877103), requestPacket(80877103)...))
	if all, _ := io.ReadAll(again); !strings.Contains(string(all), "08P01") {
		t.Errorf("asked twice: %q", all)
	}
}

func TestReplicationRefused(t *testing.T) {
	p := start(t, nil)
	for _, mode := range []string{"database", "true"} {
		c := p.dialTCP(t)
		c.Write(startupPacket(3<<16, "user", "ana", "replication", mode))
		if all, _ := io.ReadAll(c); !strings.Contains(string(all), "replication connections are not supported") {
			t.Errorf("replication=%s: %q", mode, all)
		}
	}
}

// malformed are packets that have crashed other servers, or made them allocate
// gigabytes.
var malformed = map[string][]byte{
	"query without a body":                         packet('Q', nil),
	"query without an end":                         packet('Q', []byte("SELECT 1")),
	"parse without a body":                         packet('P', nil),
	"parse cut short":                              packet('P', []byte("s\x00SELECT 1")),
	"parse with too few types":                     packet('P', []byte("s\x00SELECT 1\x00\x00\x09")),
	"bind without a body":                          packet('B', nil),
	"bind with length -2":                          packet('B', []byte("\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00")),
	"bind with a minimal length":                   packet('B', []byte("\x00\x00\x00\x00\x00\x01\x80\x00\x00\x00\x00\x00")),
	"bind of a rewritten statement with length -2": packet('B', []byte("\x00s\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00")),
	"bind of a rewritten statement cut short":      packet('B', []byte("\x00s\x00\x00")),
	"bind with 65535 parameters":                   packet('B', []byte("\x00\x00\x00\x00\xff\xff")),
	"describe without a body":                      packet('D', nil),
	"describe of nothing":                          packet('D', []byte("X\x00")),
	"execute cut short":                            packet('E', []byte("\x00\x00")),
	"close without a body":                         packet('C', nil),
	"close of nothing":                             packet('C', []byte("Yx\x00")),
	"sync with a body":                             packet('S', []byte("x")),
	"flush with a body":                            packet('H', []byte("x")),
	"function call cut short":                      packet('F', []byte("\x00\x00")),
	"function call with bad args":                  packet('F', []byte("\x00\x00\x06\x3e\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00")),
	"copy data unasked":                            packet('d', []byte("x")),
	"password unasked":                             packet('p', []byte("x")),
	"unknown type":                                 packet('z', nil),
	"type zero":                                    packet(0, nil),
	"length 3":                                     {'Q', 0, 0, 0, 3},
	"length 0":                                     {'Q', 0, 0, 0, 0},
	"length 4 GiB":                                 {'Q', 0xff, 0xff, 0xff, 0xff},
	"length 2 GiB":                                 {'Q', 0x7f, 0xff, 0xff, 0xff},
	"length 512 MiB":                               {'B', 0x20, 0, 0, 0},
	"length 16 MiB":                                {'P', 0x01, 0, 0, 0},
}

// TestMalformedAfterLogin sends each to a session of its own, with intercepted
// statements about: the session ends or goes on, another one never notices, and
// memory is not taken on the word of a length.
func TestMalformedAfterLogin(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Handler = newFakeHandler() })
	other := p.connect(t)
	before := allocated()
	for name, bytes := range malformed {
		c := openRaw(t, p.config(t))
		out := encodeAll(t, &pgproto3.Parse{Name: "s", Query: "SELECT id FROM secret"}, &pgproto3.Sync{})
		c.Write(append(append(out, bytes...), encodeAll(t, &pgproto3.Sync{}, &pgproto3.Terminate{})...))
		c.Conn.(*net.TCPConn).CloseWrite()
		if _, err := io.ReadAll(c.Conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		if got := queryInt(t, other, "SELECT 1"); got != "1" {
			t.Fatalf("after %s the other session answers %s", name, got)
		}
	}
	if used := allocated() - before; used > 64<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}

// TestMalformedBeforeLogin sends each where the password is expected, and others
// where the start-up packet is.
func TestMalformedBeforeLogin(t *testing.T) {
	p := start(t, nil)
	before := allocated()
	closed := func(name string, c net.Conn) {
		c.(*net.TCPConn).CloseWrite()
		if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bytes := range malformed {
		c := p.dialTCP(t)
		c.Write(append(startupPacket(3<<16, "user", "ana"), bytes...))
		closed(name, c)
	}
	for name, bytes := range map[string][]byte{
		"length 0":          {0, 0, 0, 0},
		"length 2 GiB":      {0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0},
		"no user":           startupPacket(3<<16, "database", "x"),
		"no end":            requestPacket(3<<16, []byte("user\x00ana")...),
		"no value":          requestPacket(3<<16, []byte("user\x00")...),
		"an empty one":      requestPacket(3 << 16),
		"a short cancel":    requestPacket(80877102, 1, 2),
		"a foreign cancel":  requestPacket(80877102, 0, 0, 0, 1, 0, 0, 0, 1),
		"a long cancel key": requestPacket(80877102, make([]byte, 260)...),
		"SASL without mechanism": append(startupPacket(3<<16, "user", "ana"),
			packet('p', []byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"))...),
		"SASL with a negative length": append(startupPacket(3<<16, "user", "ana"),
			packet('p', []byte("SCRAM-SHA-256\x00\x80\x00\x00\x00"))...),
		"SASL with PLUS": append(startupPacket(3<<16, "user", "ana"),
			packet('p', []byte("SCRAM-SHA-256-PLUS\x00\x00\x00\x00\x05p=x,,"))...),
	} {
		c := p.dialTCP(t)
		c.Write(bytes)
		closed(name, c)
	}
	if used := allocated() - before; used > 64<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	p.connect(t)
}

// TestLongMessages relays one as long as the limit and ends a session for one
// longer.
func TestLongMessages(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Limits.SQLBytes, c.Limits.MessageBytes = 1<<20, 1<<20 })
	c := p.connect(t)
	var n int
	long := strings.Repeat("ö", 400_000)
	if err := c.QueryRow(t.Context(), "SELECT length($1)", long).Scan(&n); err != nil || n != 400_000 {
		t.Errorf("a long parameter has length %d, %v", n, err)
	}
	var back string
	if err := c.QueryRow(t.Context(), "SELECT repeat('x', 3000000)").Scan(&back); err != nil || len(back) != 3_000_000 {
		t.Errorf("a long value has length %d, %v", len(back), err)
	}
	r := openRaw(t, p.config(t))
	r.Write(encodeAll(t, &pgproto3.Query{String: long + long}))
	want := "ErrorResponse FATAL 54000 a message is longer than 1048576 bytes\nconnection: unexpected EOF\n"
	if got := read(t, r, 1); got != want {
		t.Errorf("a longer message: %s, want %s", got, want)
	}
}

func encodeAll(t testing.TB, messages ...pgproto3.FrontendMessage) []byte {
	t.Helper()
	var out []byte
	var err error
	for _, m := range messages {
		if out, err = m.Encode(out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func bigEndian(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
