package serve

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// copiesPart bounds the part of the time in which public rows are compared with their copies: one hundredth.
const copiesPart = 100

// A comparison compares public rows with their copies again and again, with pauses by how long that takes.
type comparison struct {
	copies *mirror.Copies
	next   time.Time
}

// compareCopies has statements tell of public tables that have other rows by now than their copies, at each look unless comparing them
// takes long. The turn is the caller's.
func (g *generation) compareCopies(ctx context.Context, data *pgx.Conn) {
	c := &g.compared
	began := time.Now()
	if began.Before(c.next) {
		return
	}
	g.data.Outdate(c.copies.Outdated(ctx, data))
	c.next = time.Now().Add(copiesPart * time.Since(began))
}

// readCopies reads the copies, and compares them for the first time.
func (g *generation) readCopies(ctx context.Context) error {
	down, err := g.ConnectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	g.compared.copies = mirror.NewCopies(ctx, down, g.publicSources())
	data, err := g.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer data.Close(ctx)
	g.compareCopies(ctx, data)
	return nil
}

// publicSources are the public tables that are served, as the real database has them.
func (g *generation) publicSources() (all []*catalog.Table) {
	for _, n := range g.outlook.Model.Public() {
		if g.outlook.Off[n] == nil {
			all = append(all, g.outlook.Model.Source(n))
		}
	}
	return all
}
