package protocol_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// hit is one attack on the shell, and its outcome.
type hit struct{ class, name, got, want string }

// TestHardShell sends messages that have ended other servers and prints the reply to each. After
// each dpproxy is the same process, serves others, and is not much larger.
func TestHardShell(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
	before := sitetest.ResidentKiB(t, r)
	t.Logf("%-10s %-42s %-44s %s", "class", "sent", "got", "dpproxy")
	for _, attack := range []func(*testing.T, *sitetest.Running) []hit{
		shellBefore, shellAfter, shellChains, shellLarge, shellSlow, shellDeaf,
	} {
		for _, h := range attack(t, r) {
			state := fmt.Sprintf("alive, %d kB", sitetest.ResidentKiB(t, r))
			if err := alive(t, r); err != nil {
				state = err.Error()
				t.Errorf("after %s: %v", h.name, err)
			}
			t.Logf("%-10s %-42s %-44s %s", h.class, h.name, h.got, state)
			if !strings.Contains(h.got, h.want) {
				t.Errorf("%s got %q, want %q", h.name, h.got, h.want)
			}
		}
	}
	const room = 100 << 10
	if after := sitetest.ResidentKiB(t, r); after > before+room {
		t.Errorf("resident memory was %d kB, is %d kB", before, after)
	}
	r.Silent(t)
}

// alive logs in from another address than the attackers', and asks.
func alive(t *testing.T, r *sitetest.Running) error {
	t.Helper()
	cfg, err := pgx.ParseConfig(r.URL("ana"))
	if err != nil {
		t.Fatal(err)
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return from.DialContext(ctx, network, addr)
	}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "SELECT 1")
	return err
}

// said reads messages until the connection ends or a row says end, and writes them down.
func said(conn net.Conn) string {
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	var seen []string
	for {
		var head [5]byte
		if _, err := io.ReadFull(conn, head[:]); sitetest.IsTimeout(err) {
			return strings.Join(append(seen, "nothing more"), ", ")
		} else if err != nil {
			return strings.Join(append(seen, "closed"), ", ")
		}
		body := make([]byte, int(head[1])<<24|int(head[2])<<16|int(head[3])<<8|int(head[4])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return strings.Join(append(seen, "cut off"), ", ")
		}
		switch head[0] {
		case 'E':
			seen = append(seen, field(body, 'V')+" "+field(body, 'C'))
		case 'D':
			if strings.HasSuffix(string(body), "end") {
				return strings.Join(append(seen, "session goes on"), ", ")
			}
		}
	}
}

// field takes a field out of an ErrorResponse.
func field(body []byte, name byte) string {
	for f := range strings.SplitSeq(string(body), "\x00") {
		if f != "" && f[0] == name {
			return f[1:]
		}
	}
	return ""
}

// malformed are packets that have ended servers built on other decoders, or made them
// allocate as much as the length promises.
func malformed() map[string]string {
	return map[string]string{
		"Query without a body":                "Q\x00\x00\x00\x04",
		"Bind, a parameter of length -2":      sitetest.Message('B', "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe"),
		"Bind, a parameter of length -2^31":   sitetest.Message('B', "\x00\x00\x00\x00\x00\x01\x80\x00\x00\x00"),
		"FunctionCall, cut off":               sitetest.Message('F', "\x00\x00"),
		"FunctionCall, 65535 arguments":       sitetest.Message('F', "\x00\x00\x00\x01\x00\x00\xff\xff"),
		"FunctionCall, an argument of -2":     sitetest.Message('F', "\x00\x00\x00\x01\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"),
		"a header that promises 4 GiB":        "Q\xff\xff\xff\xff",
		"a header that promises 2 GiB":        "Q\x7f\xff\xff\xff",
		"a header that promises 512 MiB":      "Q\x20\x00\x00\x00",
		"a message of an unknown type":        sitetest.Message('~', "x"),
		"an answer to a question nobody asks": sitetest.Message('p', "SCRAM-SHA-256\x00\xff\xff\xff\xfe"),
	}
}

// shellBefore sends malformed packets where the password is waited for.
func shellBefore(t *testing.T, r *sitetest.Running) []hit {
	var hits []hit
	packets := malformed()
	for _, name := range slices.Sorted(maps.Keys(packets)) {
		packet := packets[name]
		conn := shellDial(t, r)
		io.WriteString(conn, sitetest.StartUp(3<<16, "user\x00ana\x00\x00")+packet)
		hits = append(hits, hit{"log-in", name, said(conn), "FATAL"})
		conn.Close()
	}
	return hits
}

// shellAfter sends them in a session.
func shellAfter(t *testing.T, r *sitetest.Running) []hit {
	var hits []hit
	packets := malformed()
	for _, name := range slices.Sorted(maps.Keys(packets)) {
		packet := packets[name]
		h := sitetest.Hijack(t, r.URL("ana"))
		parse := sitetest.Message('P', "\x00"+sitetest.CountPatients+" WHERE birth_year > $1\x00\x00\x00") // so that a Bind is read
		io.WriteString(h.Conn, parse+packet+sitetest.Message('S', "")+sitetest.Message('Q', "SELECT 'end'\x00"))
		want := "ERROR"
		if packet[0] == '~' || packet[0] == 'p' || strings.Contains(name, "promises") {
			want = "FATAL"
		}
		hits = append(hits, hit{"session", name, said(h.Conn), want})
		h.Conn.Close()
	}
	return hits
}

// shellChains sends chains that overflow the stack of Postgres's grammar.
func shellChains(t *testing.T, r *sitetest.Running) []hit {
	const terms = 100_000
	var hits []hit
	chains := map[string]string{
		"+1":                        "SELECT count(*)%s FROM patients",
		"::int":                     "SELECT count(*)%s FROM patients",
		" COLLATE \"C\"":            "SELECT count(*) FROM patients WHERE sex%s = 'f'",
		" AT TIME ZONE 'UTC'":       "SELECT now()%s, count(*) FROM patients",
		" IS NULL":                  "SELECT count(*)%s FROM patients",
		" UNION ALL SELECT 1":       "SELECT count(*) FROM patients%s",
		" OR id = 1":                "SELECT count(*) FROM patients WHERE id = 1%s",
		"[1]":                       "SELECT (array_agg(id))%s FROM patients",
		" OPERATOR(pg_catalog.+) 1": "SELECT count(*)%s FROM patients",
	}
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		sql := chains[name]
		h := sitetest.Hijack(t, r.URL("ana"))
		h.Conn.SetDeadline(time.Now().Add(30 * time.Second))
		io.WriteString(h.Conn, sitetest.Message('Q', fmt.Sprintf(sql, strings.Repeat(name, terms))+"\x00")+
			sitetest.Message('Q', "SELECT 'end'\x00"))
		hits = append(hits, hit{
			"parser", fmt.Sprintf("%d times%.30s", terms, " "+strings.TrimSpace(name)), said(h.Conn),
			"ERROR 54001, session goes on",
		})
		h.Conn.Close()
	}
	return hits
}

// shellLarge sends messages that are too long, whole.
func shellLarge(t *testing.T, r *sitetest.Running) []hit {
	var hits []hit
	for _, c := range []struct {
		name, packet, want string
	}{
		{"a statement of 2 MiB", sitetest.Message('Q', "SELECT '"+strings.Repeat("x", 2<<20)+"'\x00"), "ERROR 54001, session goes on"},
		{"a Query of 17 MiB", sitetest.Message('Q', "SELECT '"+strings.Repeat("x", 17<<20)+"'\x00"), "FATAL 54000"},
		{
			"a parameter of 17 MiB",
			sitetest.Message('P', "\x00SELECT $1::text\x00\x00\x00") +
				sitetest.Message('B', "\x00\x00\x00\x00\x00\x01"+sitetest.Int32(17<<20)+strings.Repeat("x", 17<<20)+
					"\x00\x00"), "FATAL 54000",
		},
		{"100,000 Syncs", strings.Repeat(sitetest.Message('S', ""), 100_000), "session goes on"},
		{
			"20,000 pipelined Executes without Sync",
			sitetest.Message('P', "\x00SELECT 1\x00\x00\x00") +
				strings.Repeat(sitetest.Message('B', "\x00\x00\x00\x00\x00\x00\x00\x00")+
					sitetest.Message('E', "\x00\x00\x00\x00\x00"), 20_000) + sitetest.Message('S', ""), "session goes on",
		},
	} {
		h := sitetest.Hijack(t, r.URL("ana"))
		h.Conn.SetDeadline(time.Now().Add(30 * time.Second))
		go io.WriteString(h.Conn, c.packet+sitetest.Message('Q', "SELECT 'end'\x00")) // it blocks where nobody reads
		hits = append(hits, hit{"large", c.name, said(h.Conn), c.want})
		h.Conn.Close()
	}
	return hits
}

// shellSlow opens connections that send half a message, and wait.
func shellSlow(t *testing.T, r *sitetest.Running) []hit {
	const many = 120
	hello := sitetest.StartUp(3<<16, "user\x00ana\x00\x00")
	answers := make(chan string, many)
	for i := range many {
		conn := shellDial(t, r)
		io.WriteString(conn, hello[:i%len(hello)])
		go func() { answers <- said(conn) }()
	}
	during := "another address logs in"
	if err := alive(t, r); err != nil {
		during = err.Error()
	}
	ended := 0
	for range many {
		if strings.HasSuffix(<-answers, "closed") {
			ended++
		}
	}
	h := sitetest.Hijack(t, r.URL("ana"))
	defer h.Conn.Close()
	io.WriteString(h.Conn, "Q\x00\x00\x01\x00SELECT")
	inside := "another session goes on"
	if err := alive(t, r); err != nil {
		inside = err.Error()
	}
	return []hit{
		{"slow", fmt.Sprintf("%d half log-ins, meanwhile", many), during, "logs in"},
		{"slow", "the half log-ins", fmt.Sprintf("%d closed in the end", ended), fmt.Sprint(many)},
		{"slow", "half a Query in a session, meanwhile", inside, "goes on"},
	}
}

// shellDeaf asks for much and reads none of it.
func shellDeaf(t *testing.T, r *sitetest.Running) []hit {
	before := sitetest.ResidentKiB(t, r)
	h := sitetest.Hijack(t, r.URL("ana"))
	defer h.Conn.Close()
	const sql = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)"
	io.WriteString(h.Conn, sitetest.Message('Q', sql+"\x00"))
	var one [1]byte
	io.ReadFull(h.Conn, one[:]) // the rows are coming
	for range 20 {
		if err := alive(t, r); err != nil {
			return []hit{{"deaf", "a result of 1 GB, not read", err.Error(), "grew"}}
		}
	}
	grown := sitetest.ResidentKiB(t, r) - before
	got := fmt.Sprintf("memory grew by %d kB", grown)
	if grown > 20<<10 {
		got = "too much: " + got
	}
	return []hit{{"deaf", "a result of 1 GB, not read", got, "memory grew"}}
}

func shellDial(t *testing.T, r *sitetest.Running) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
