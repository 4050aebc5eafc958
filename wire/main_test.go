package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/logtest"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/wiretest"
	"dpproxy/wire"
)

// postgres is the server behind every test. Its database mirror has an empty
// table secret; the database plain is a copy of it in which the table has rows,
// so that object identifiers agree.
var postgres *pgtemp.Server

const schema = `
CREATE ROLE ana LOGIN;
CREATE SCHEMA dp;
GRANT USAGE ON SCHEMA dp TO PUBLIC;
CREATE FUNCTION dp.raise(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RAISE EXCEPTION USING ERRCODE = 'PB000', MESSAGE = $1; END$$;
CREATE TABLE secret (id int PRIMARY KEY, name varchar(10));
CREATE TABLE open (id int PRIMARY KEY, name text);
INSERT INTO open SELECT i, 'row ' || i FROM generate_series(1, 5) i;
GRANT SELECT ON secret, open TO ana;`

const secretRows = `INSERT INTO secret VALUES (1, 'one'), (2, 'zwei'), (3, 'trois')`

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	var err error
	postgres, err = pgtemp.Start(context.Background(), pgtemp.Options{Mirror: true})
	if err != nil {
		return 1, err
	}
	defer postgres.Stop()
	for _, step := range [][2]string{
		{"postgres", "CREATE DATABASE mirror"},
		{"mirror", schema},
		{"postgres", "CREATE DATABASE plain TEMPLATE mirror"},
		{"plain", secretRows},
	} {
		if err := execute(step[0], step[1]); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

func execute(database, sql string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, postgres.URL(database, pgtemp.Superuser))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// dialMirror opens a session on the database mirror with the client's settings.
func dialMirror(ctx context.Context, l wire.Login) (*pgconn.PgConn, error) {
	c, err := pgconn.ParseConfig(postgres.URL("mirror", l.User))
	if err != nil {
		return nil, err
	}
	maps.Copy(c.RuntimeParams, l.Params)
	return pgconn.ConnectConfig(ctx, c)
}

// password of every user that tests log in as.
const password = "geheim, ö"

var verifierOnce = sync.OnceValues(func() (string, error) { return wire.MakeVerifier(password, 0) })

// proxy is a running server.
type proxy struct {
	*wire.Server
	addr string
	stop context.CancelFunc // graceful
	done chan error
	log  *logtest.Buffer
}

// start serves with a config that edit may change.
func start(t testing.TB, edit func(*wire.Config)) *proxy {
	t.Helper()
	verifier, err := verifierOnce()
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{done: make(chan error, 1), log: &logtest.Buffer{}}
	c := wire.Config{
		Verifier: func(_ context.Context, user string) (string, bool, error) {
			return verifier, user == "ana" || user == "postgres", nil
		},
		Dial:   dialMirror,
		Logger: slog.New(slog.NewTextHandler(p.log, nil)),
		Limits: wire.Limits{DrainTime: 5 * time.Second},
	}
	if edit != nil {
		edit(&c)
	}
	if p.Server, err = wire.NewServer(c); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	go func() { p.done <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		p.stop()
		select {
		case err := <-p.done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Serve did not stop")
		}
		if bytes.Contains([]byte(p.log.String()), []byte("defect")) {
			t.Errorf("a goroutine panicked:\n%s", p.log)
		}
	})
	return p
}

// url is a connection string for the proxy.
func (p *proxy) url(more string) string {
	host, port, _ := net.SplitHostPort(p.addr)
	return fmt.Sprintf("host=%s port=%s dbname=mirror user=ana password='%s' sslmode=disable %s", host, port, password, more)
}

func (p *proxy) config(t testing.TB) *pgconn.Config {
	t.Helper()
	c, err := pgconn.ParseConfig(p.url(""))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connect opens a pgx connection through the proxy.
func (p *proxy) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.url(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// openRaw opens a session in which a test sends messages of its own.
func openRaw(t testing.TB, c *pgconn.Config) *wiretest.Conn {
	t.Helper()
	return wiretest.Open(t, c)
}

func read(t testing.TB, c *wiretest.Conn, ready int) string {
	t.Helper()
	return c.Read(ready)
}

// direct opens a session on Postgres itself.
func direct(t testing.TB, database string) *wiretest.Conn {
	t.Helper()
	c, err := pgconn.ParseConfig(postgres.URL(database, "ana"))
	if err != nil {
		t.Fatal(err)
	}
	return openRaw(t, c)
}

// dialTCP opens a connection on which nothing has been said.
func (p *proxy) dialTCP(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { c.Close() })
	return c
}

func queryInt(t testing.TB, c *pgx.Conn, sql string) string {
	t.Helper()
	var n int
	if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strconv.Itoa(n)
}
