package proxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/dp"
	"dpproxy/proxy"
)

// BenchmarkCount asks for a protected count, with a ledger in memory and without a grid
// of replies.
func BenchmarkCount(b *testing.B) {
	w := newWorldWith(b, func(c *proxy.Config) { c.Defaults.EpsilonPico = dp.PicoPerUnit / 10_000 })
	ana := connect(b, w.url("ana"))
	for name, mode := range map[string]pgx.QueryExecMode{
		"simple":   pgx.QueryExecModeSimpleProtocol,
		"prepared": pgx.QueryExecModeCacheStatement,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ana.Exec(b.Context(), "SELECT count(*) FROM patients WHERE birth_year > 1970", mode); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
