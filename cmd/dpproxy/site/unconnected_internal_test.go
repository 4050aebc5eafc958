package site

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/sitetest"
)

// TestUnconnected holds that each way in which a server refuses a connection is said once, in one line, with what to do.
func TestUnconnected(t *testing.T) {
	refuses := func(code, message string) string {
		return serving(t, func(conn net.Conn) {
			b := pgproto3.NewBackend(conn, conn)
			if first, err := b.ReceiveStartupMessage(); err != nil {
				return
			} else if _, encrypted := first.(*pgproto3.SSLRequest); encrypted {
				_, _ = conn.Write([]byte("N"))
				_, _ = b.ReceiveStartupMessage()
			}
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
			_ = b.Flush()
		})
	}
	plain := serving(t, func(conn net.Conn) {
		_, _ = pgproto3.NewBackend(conn, conn).ReceiveStartupMessage()
		_, _ = conn.Write([]byte("N"))
	})
	cert, key := sitetest.NewAuthority(t).Server(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	unknown := serving(t, func(conn net.Conn) {
		_, _ = pgproto3.NewBackend(conn, conn).ReceiveStartupMessage()
		_, _ = conn.Write([]byte("S"))
		_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	})
	for _, c := range []struct{ name, url, want string }{
		{"nobody", "postgres://ana@127.0.0.1:1/db", "127.0.0.1:1, user ana, database db: connection refused: is the server running"},
		{"no socket", "host=/nowhere user=ana dbname=db", "/nowhere/.s.PGSQL.5432, user ana, database db: no such file or directory: is"},
		{
			"two hosts", "host=127.0.0.1,127.0.0.1 port=1,2 user=ana dbname=db",
			"127.0.0.1:1, 127.0.0.1:2, user ana, database db: connection",
		},
		{
			"a password", refuses("28P01", "password authentication failed"),
			"failed (SQLSTATE 28P01): neither THE_PASSWORD nor the_key is set",
		},
		{
			"no entry", refuses("28000", "no pg_hba.conf entry for host"),
			"28000): the server's pg_hba.conf has to let the role in from here",
		},
		{"no role", refuses("28000", `role "ana" does not exist`), "28000): the connection has to name a role"},
		{"no database", refuses("3D000", `database "db" does not exist`), "does not exist (SQLSTATE 3D000): name a database"},
		{"full", refuses("53300", "sorry, too many clients already"), "(SQLSTATE 53300): it has no session free"},
		{"starting", refuses("57P03", "the database system is starting up"), "(SQLSTATE 57P03): it starts or stops: try again"},
		{"no right", refuses("42501", "permission denied for database"), "(SQLSTATE 42501): GRANT CONNECT"},
		{"no TLS", plain + "?sslmode=require", "server refused TLS connection: set ssl = on there"},
		{"a certificate", unknown + "?sslmode=verify-full", "signed by unknown authority: sslrootcert has to name"},
	} {
		_, err := connect(t.Context(), "the server", c.url, Password{variable: "THE_PASSWORD", key: "the_key"})
		if err == nil {
			t.Fatalf("%s: it is connected", c.name)
		}
		text := err.Error()
		_, reason, _ := strings.Cut(c.want, ": ")
		if !strings.HasPrefix(text, "connecting to the server: ") || strings.Count(text, c.want) != 1 || strings.Contains(text, "\n") ||
			strings.Count(text, reason) != 1 || strings.Count(text, "database db") != 1 ||
			strings.Contains(text, noTLS) != strings.Contains(c.want, noTLS) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// serving answers connections, and returns a URL of them.
func serving(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer(conn)
			conn.Close()
		}
	}()
	return fmt.Sprintf("postgres://ana@%v/db", l.Addr())
}
