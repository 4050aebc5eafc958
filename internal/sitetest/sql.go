package sitetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
)

// Rows runs a query and returns its rows as one text: a line each, with | between the values.
func Rows(t *testing.T, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values := r.RawValues()
		var cells []string
		for _, v := range values {
			cells = append(cells, string(v))
		}
		return strings.Join(cells, "|"), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(text, "\n")
}

// Spent returns the rows of dp.budget, as [Rows] does.
func Spent(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return Rows(t, conn, "SELECT CAST(b AS text) FROM dp.budget b ORDER BY 1")
}

// Fails fails the test unless an error has a SQLSTATE and a message that contains a text.
func Fails(t *testing.T, err error, code, message string) *pgconn.PgError {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != code || !strings.Contains(pg.Message, message) {
		t.Errorf("%v, want %s: %s", err, code, message)
		return &pgconn.PgError{}
	}
	return pg
}

// Dial opens a session that ends with the test.
func Dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	return dial(t, url, func(*pgx.ConnConfig) {})
}

// DialTold opens a session that ends with the test and is told everything, and hands on the notices that it gets.
func DialTold(t testing.TB, url string, told func(*pgconn.Notice)) *pgx.Conn {
	t.Helper()
	return dial(t, url, func(cfg *pgx.ConnConfig) {
		cfg.RuntimeParams["dp.notice"] = "full"
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { told(n) }
	})
}

func dial(t testing.TB, url string, change func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	change(cfg)
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Exec runs one statement.
func Exec(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// InBackground executes a statement and returns the channel of its outcome.
func InBackground(t *testing.T, conn *pgx.Conn, sql string, args ...any) <-chan error {
	outcome := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), sql, args...)
		outcome <- err
	}()
	return outcome
}

// SQLState returns the SQLSTATE of an error of Postgres; "" for others.
func SQLState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// Psql runs a script in psql and returns all that a person would see.
func Psql(t *testing.T, r *Running, script string, args ...string) string {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"),
		append([]string{"--no-psqlrc", "--pset=pager=off", r.URL("ana")}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(out)
}
