package clients_test

import (
	"flag"
	"fmt"
	"net"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// long runs the tests that take minutes.
var long = flag.Bool("clients", false, "run the drivers' own test suites too, and fail where a client is not installed")

func TestMain(m *testing.M) { sitetest.Main(m) }

// A site is a dpproxy that serves, between two servers that clients can reach as well.
type site struct {
	*sitetest.Site
	*sitetest.Running
}

// newSite makes a site whose servers listen on ports. The superuser runs onMirror in the
// mirror once it is made.
func newSite(t *testing.T, o sitetest.Options, onMirror string) *site {
	t.Helper()
	o.TCP = true
	o.Policy += "\nlimits: {reply_grid: 0, connections: 200}\n"
	s := sitetest.Make(t, o)
	if onMirror != "" {
		sitetest.Exec(t, sitetest.Dial(t, s.Mirror.URL(s.Database, pgtemp.Superuser)), onMirror)
	}
	return &site{s, s.Run(t)}
}

// hostPort of dpproxy.
func (s *site) hostPort(t *testing.T) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// realEnv leads to the real database, in the way of libpq.
func (s *site) realEnv() []string {
	return []string{
		"PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", s.Data.Port), "PGDATABASE=" + s.Database,
		"PGUSER=ana", "PGPASSWORD=" + sitetest.Password, "PGSSLMODE=disable",
	}
}
