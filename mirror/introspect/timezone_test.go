package introspect_test

import (
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
)

func TestTimeZones(t *testing.T) {
	zones, err := introspect.TimeZones(t.Context(), connect(t, start(t).URL("postgres", pgtemp.Superuser)))
	if err != nil || !zones["europe/berlin"] || !zones["utc"] || zones["mars/olympus"] {
		t.Errorf("%d time zones, %v", len(zones), err)
	}
}
