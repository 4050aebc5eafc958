package sitetest

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/redistemp"
)

// A Pair is two dpproxies on one Redis, mirror and database.
type Pair struct {
	T           *testing.T // lives as long as they do
	Redis       *redistemp.Server
	First, Next *Site
	Running     [2]*Running
	Conns       [2]*pgx.Conn
}

// Run starts both, and a session with each.
func (p *Pair) Run() {
	p.T.Helper()
	p.StartProxy(0, p.First)
	p.StartProxy(1, p.Next)
}

// StartProxy starts one of the two from its site, and a session with it.
func (p *Pair) StartProxy(i int, s *Site) {
	p.T.Helper()
	p.Running[i] = s.Run(p.T)
	p.Conns[i] = Dial(p.T, p.Running[i].URL("ana"))
}

// Stop ends both.
func (p *Pair) Stop() {
	for _, r := range p.Running {
		r.Stop()
	}
}
