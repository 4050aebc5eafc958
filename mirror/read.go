package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
)

// Read returns the relations of the plan as the catalogue behind conn describes them,
// from one snapshot and while they cannot change, without time zones
// ([introspect.TimeZones]). Relations that do not exist are missing in it. [Plan.Problems]
// says whether the others are of the kind that the plan takes them for.
func (p Plan) Read(ctx context.Context, conn *pgx.Conn) (*catalog.Schema, error) {
	tx, err := steady.Open(ctx, conn, p.names())
	if err != nil {
		return nil, fmt.Errorf("mirror: read the catalogue: %w", err)
	}
	defer tx.Rollback(ctx)
	s, err := p.read(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("mirror: read the catalogue: %w", err)
	}
	return s, nil
}

// read reads the schema in the snapshot of tx.
func (p Plan) read(ctx context.Context, tx pgx.Tx) (*catalog.Schema, error) {
	of := introspect.Relations{Names: p.names(), Known: p.Known}
	for _, t := range p.Protected {
		of.Partitions = append(of.Partitions, introspect.Partition{Name: t.Name, Of: t.PartitionOf})
	}
	for _, v := range p.Views {
		of.Views = append(of.Views, v.Name)
	}
	s, err := introspect.Read(ctx, tx, of)
	if err != nil {
		return nil, err
	}
	for _, v := range p.Views {
		if t := s.Tables[v.Name]; t != nil && t.View != "" {
			t.ViewShown = v.Shown
		}
	}
	return s, nil
}

// complete refuses a schema in which a named relation is missing.
func complete(s *catalog.Schema, names []catalog.Name) error {
	var missing []string
	for _, n := range names {
		if s.Tables[n] == nil {
			missing = append(missing, n.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("database %s has no table %s", s.Database, strings.Join(missing, ", "))
}
