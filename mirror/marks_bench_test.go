package mirror_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
	"dpproxy/mirror/mirrortest"
)

// BenchmarkMark measures the writing of a mark of a ledger with about ten budgets, as dpproxy does each second.
func BenchmarkMark(b *testing.B) {
	conn := mirrortest.Connect(b, mirrortest.StartMirror(b).URL("postgres", pgtemp.Superuser))
	const ledger = "0123456789abcdef0123456789abcdef"
	type write func(ctx context.Context, conn *pgx.Conn, ledger string, old, sealed []byte) (bool, error)
	for place, write := range map[string]write{"file": mirror.WriteMarkFile, "object": mirror.WriteMark} {
		b.Run(place, func(b *testing.B) {
			var kept []byte
			sealed := make([]byte, 2000)
			for b.Loop() {
				sealed[0]++
				next := append([]byte(nil), sealed...)
				if done, err := write(b.Context(), conn, ledger, kept, next); err != nil || !done {
					b.Fatal(done, err)
				}
				kept = next
			}
		})
	}
}
