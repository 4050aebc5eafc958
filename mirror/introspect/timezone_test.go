package introspect_test

import (
	"reflect"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
)

// TestTimeZones asks two servers: each has its own list, which it is asked for once.
func TestTimeZones(t *testing.T) {
	var lists []map[string]bool
	for _, server := range []*pgtemp.Server{start(t), start(t)} {
		for range 2 {
			zones, err := introspect.TimeZones(t.Context(), connect(t, server.URL("postgres", pgtemp.Superuser)))
			if err != nil || !zones["europe/berlin"] || !zones["utc"] || zones["mars/olympus"] {
				t.Errorf("%d time zones, %v", len(zones), err)
			}
			lists = append(lists, zones)
		}
	}
	same := func(i, j int) bool { return reflect.ValueOf(lists[i]).Pointer() == reflect.ValueOf(lists[j]).Pointer() }
	if !same(0, 1) || !same(2, 3) || same(1, 2) {
		t.Error("a list is read twice from a server, or is that of another server")
	}
}
