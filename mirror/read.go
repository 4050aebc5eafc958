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
	s.Local, err = p.readLocal(ctx, tx)
	return s, err
}

// readLocal reads which tables those of the local model are.
func (p Plan) readLocal(ctx context.Context, tx pgx.Tx) (map[catalog.Name]*catalog.Table, error) {
	all := map[catalog.Name]*catalog.Table{}
	if len(p.Local) == 0 {
		return all, nil
	}
	s, err := introspect.Read(ctx, tx, introspect.Relations{Names: p.local()})
	if err != nil {
		return nil, err
	}
	for _, l := range p.Local {
		if t := s.Tables[l.Name]; t != nil {
			all[l.Name] = l.Noted(t)
		}
	}
	return all, nil
}

// Noted returns what the record of the mirror has of a table of the local model.
func (l Local) Noted(t *catalog.Table) *catalog.Table {
	noted := &catalog.Table{Name: t.Name, OID: t.OID, Children: t.Children, ChildOIDs: t.ChildOIDs}
	for _, c := range t.Columns {
		if slices.Contains(l.Columns, c.Name) {
			noted.Columns = append(noted.Columns, catalog.Column{Name: c.Name, Number: c.Number})
		}
	}
	return noted
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
