package site

import (
	"strings"
	"testing"
)

// TestExposed holds that check warns of a connection to the protected database that others can read, or answer on.
func TestExposed(t *testing.T) {
	for data, want := range map[string]string{
		"postgres://dpproxy@db.example/clinic":                         "unencrypted", // sslmode is prefer
		"postgres://dpproxy@db.example/clinic?sslmode=disable":         "unencrypted",
		"postgres://dpproxy@db.example/clinic?sslmode=allow":           "unencrypted",
		"postgres://dpproxy@db.example/clinic?sslmode=require":         "whatever server",
		"postgres://dpproxy@db.example/clinic?sslmode=verify-full":     "",
		"postgres://dpproxy@localhost,10.0.0.7/clinic?sslmode=disable": "unencrypted",
		"postgres://dpproxy@localhost/clinic?sslmode=disable":          "",
		"postgres://dpproxy@[::1]:5433/clinic?sslmode=disable":         "",
		"host=/var/run/postgresql dbname=clinic sslmode=disable":       "",
	} {
		if got := Exposed(data); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", data, got)
		}
	}
}
