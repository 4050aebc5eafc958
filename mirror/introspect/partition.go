package introspect

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// attached holds for a row h of pg_inherits unless the partition is being detached: DETACH ... CONCURRENTLY marks it first, and
// who reads in a snapshot that sees the mark does not read the partition any more. Postgres 13 has no such thing.
const attached = `pg_catalog.to_jsonb(h) OPERATOR(pg_catalog.->>) 'inhdetachpending' IS DISTINCT FROM 'true'`

// belowSQL is a recursive query below(root, oid, kind) of the relations of $1 and all that is partitioned into them.
const belowSQL = `below(root, oid, kind) AS (
		SELECT c.oid, c.oid, c.relkind FROM pg_class c WHERE c.oid = ANY ($1)
		UNION
		SELECT b.root, c.oid, c.relkind FROM below b JOIN pg_inherits h ON h.inhparent = b.oid AND ` + attached + `
			JOIN pg_class c ON c.oid = h.inhrelid WHERE b.kind = 'p')`

// below reads the partitions of partitioned tables, at any depth: all of them are children, and the rows are in those that are
// not partitioned themselves. Of other tables it reads how they are stored.
func below(ctx context.Context, r *reader) error {
	rows, err := r.tx.Query(ctx, `WITH RECURSIVE `+belowSQL+`
		SELECT b.root, b.oid, b.kind, n.nspname, c.relname, coalesce(m.amname, 'none') FROM below b JOIN pg_class c ON c.oid = b.oid
		JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am m ON m.oid = c.relam ORDER BY n.nspname, c.relname`, r.oids)
	if err != nil {
		return err
	}
	var root, oid uint32
	var kind rune
	var n catalog.Name
	var method string
	_, err = pgx.ForEachRow(rows, []any{&root, &oid, &kind, &n.Schema, &n.Name, &method}, func() error {
		t := r.byOID[root]
		if kind == 'r' || kind == 'f' {
			t.Stored = append(t.Stored, catalog.Storage{Name: n, Kind: byte(kind), Method: method})
		}
		if oid == root {
			return nil
		}
		t.Children, t.ChildOIDs = append(t.Children, n), append(t.ChildOIDs, oid)
		r.parts[oid] = append(r.parts[oid], t)
		if kind != 'p' {
			r.leaves[t] = append(r.leaves[t], oid)
		}
		return nil
	})
	return err
}

// spread collects the foreign keys of the partitions of one table.
type spread struct {
	of    *catalog.Table
	found []catalog.ForeignKey
	// has are the leaves that have each of them, and those for whose rows it holds.
	has, holds []map[uint32]bool
}

// add notes a foreign key of a leaf.
func (s *spread) add(leaf uint32, f catalog.ForeignKey, holds bool) {
	i := slices.IndexFunc(s.found, f.Same)
	if i < 0 {
		i = len(s.found)
		s.found = append(s.found, f)
		s.has, s.holds = append(s.has, map[uint32]bool{}), append(s.holds, map[uint32]bool{})
	}
	s.found[i].Forgets = s.found[i].Forgets || f.Forgets
	s.has[i][leaf] = true
	if holds {
		s.holds[i][leaf] = true
	}
}

// settle gives the table the foreign keys that it has not itself: they hold for its rows if one of each leaf does. The mirror does
// not show them: the constraint is none of the table's.
func (s *spread) settle(leaves []uint32) {
	for i, f := range s.found {
		f.Definition = ""
		for _, own := range [][]catalog.ForeignKey{s.of.Foreign, s.of.Loose} {
			if at := slices.IndexFunc(own, f.Same); at >= 0 {
				own[at].Forgets = own[at].Forgets || f.Forgets
			}
		}
		switch {
		case slices.ContainsFunc(s.of.Foreign, f.Same):
		case len(s.holds[i]) == len(leaves):
			s.of.Loose = slices.DeleteFunc(s.of.Loose, f.Same)
			s.of.Foreign = append(s.of.Foreign, f)
		case !slices.ContainsFunc(s.of.Loose, f.Same):
			s.of.Loose = append(s.of.Loose, f)
		}
	}
}
