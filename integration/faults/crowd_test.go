package faults_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpproxy/internal/sitetest"
)

// A crowd keeps connections open that never log in, half of them from the address of the analysts and half from
// addresses of their own. One that is turned away comes again.
type crowd struct {
	run   *sitetest.Running
	tried atomic.Int64 // connections that were made
	all   sync.WaitGroup
}

// again is how long one of the crowd waits before it comes again: a thousand make a thousand connections in that time.
const again = time.Second

// besiege starts a crowd of n, which goes on until ctx ends.
func besiege(ctx context.Context, t *testing.T, run *sitetest.Running, n int) *crowd {
	t.Helper()
	c := &crowd{run: run}
	for i := range n {
		c.all.Go(func() { c.stay(ctx, i) })
	}
	return c
}

// stay is the life of number i of a crowd.
func (c *crowd) stay(ctx context.Context, i int) {
	wait := time.NewTicker(again)
	defer wait.Stop()
	for ctx.Err() == nil {
		c.try(ctx, i)
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
	}
}

// try opens a connection, says what number i of a crowd says, and stays until it is turned away.
func (c *crowd) try(ctx context.Context, i int) {
	from, user := net.IPv4(127, 0, 0, 1), "stranger" // the analysts' address: their names would have to wait there
	if i%2 == 1 {
		from, user = net.IPv4(127, 1, byte(i>>8), byte(i)), "ana"
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	conn, err := dialer.DialContext(ctx, "tcp", c.run.Addr)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c.tried.Add(1)
	if said := openings[i/2%len(openings)](user); len(said) > 0 {
		_, _ = conn.Write(said)
	}
	_, _ = io.Copy(io.Discard, conn)
}

// openings are what a client says that never logs in.
var openings = []func(user string) []byte{
	func(string) []byte { return nil },
	func(user string) []byte { return startup("user", user)[:9] },
	func(user string) []byte { return startup("user", user) },
	func(user string) []byte {
		settings := []string{"user", user}
		for i := range 100 {
			settings = append(settings, []string{"application_name", "dp.no_such"}[i%2], fmt.Sprint("n", i))
		}
		return startup(settings...)
	},
}

// startup is the first packet of a client: its length, the protocol's version, names and values.
func startup(settings ...string) []byte {
	packet := binary.BigEndian.AppendUint32(make([]byte, 4), 3<<16)
	for _, s := range settings {
		packet = append(append(packet, s...), 0)
	}
	packet = append(packet, 0)
	binary.BigEndian.PutUint32(packet, uint32(len(packet)))
	return packet
}
