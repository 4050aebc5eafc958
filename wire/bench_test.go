package wire_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// BenchmarkProxyRoundTrip sends SELECT 1 to Postgres over its socket and through
// the relay over TCP, as a Query and in the extended protocol.
func BenchmarkProxyRoundTrip(b *testing.B) {
	p := start(b, nil)
	direct, err := pgconn.ParseConfig(postgres.URL("mirror", "ana"))
	if err != nil {
		b.Fatal(err)
	}
	requests := map[string][]byte{
		"simple": encodeAll(b, &pgproto3.Query{String: "SELECT 1"}),
		"extended": encodeAll(b, &pgproto3.Parse{Query: "SELECT 1"}, &pgproto3.Bind{},
			&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{}),
	}
	for name, config := range map[string]*pgconn.Config{"direct": direct, "relay": p.config(b)} {
		for protocol, request := range requests {
			for _, clients := range []int{1, 16} {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", name, protocol, clients), func(b *testing.B) {
					roundTrips(b, config, request, clients)
				})
			}
		}
	}
}

// roundTrips shares b.N requests among the clients.
func roundTrips(b *testing.B, config *pgconn.Config, request []byte, clients int) {
	work := make(chan struct{}, clients)
	done := make(chan error, clients)
	for range clients {
		c := openRaw(b, config)
		go func() {
			for range work {
				if err := roundTrip(c.Conn, request); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	b.ReportAllocs()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	for range clients {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// roundTrip reads until a ReadyForQuery is the last that has come.
func roundTrip(c net.Conn, request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	var buf [1024]byte
	for n := 0; ; {
		m, err := c.Read(buf[n:])
		if err != nil {
			return err
		}
		if n += m; n == len(buf) {
			return io.ErrShortBuffer
		}
		if n >= 6 && buf[n-6] == 'Z' {
			return nil
		}
	}
}
