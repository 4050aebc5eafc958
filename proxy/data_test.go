package proxy_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/internal/pgtemp"
	"dpproxy/proxy"
)

// A database whose texts may not be UTF-8 would fail on the rows that hold such
// texts, and on no others.
func TestOtherEncodings(t *testing.T) {
	s := server(t)
	exec(t, s, "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
	for database, want := range map[string]string{"postgres": "", "ascii": "encoding SQL_ASCII"} {
		cfg, err := pgxpool.ParseConfig(s.URL(database, pgtemp.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		data, err := proxy.OpenData(t.Context(), cfg, nil, []byte("a secret of thirty-two bytes here"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(data.Close)
		err = data.Ping(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("database %s: %v, want %q", database, err, want)
		}
	}
}
