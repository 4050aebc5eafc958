package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/planner/policy"
)

// Answers of local tables are files that are kept under the name of their table. The ledger notes the OIDs of the tables, and of their
// partitions, so that the answers of another table are not taken for those of one that has its name by now.

// A relation is one of the protected database, with the OIDs of itself and of the tables that it is a partition of.
type relation struct {
	name   catalog.Name
	within []uint32
}

// OtherObjects returns of local tables whose objects have answered that the policy does not speak of by now: those of a table that has
// another name, and of a former partition that is something else in the policy. A table that is gone counts as one that was restored
// from a dump: its answers are those of the keys.
func (s Site) OtherObjects(ctx context.Context, r ledger.Ruling, links []accountant.Link) (map[catalog.Name]error, error) {
	if len(s.Policy.Local) == 0 || r.Database == "" {
		return nil, nil
	}
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	there, err := relationsByOID(ctx, conn, oidsIn(r, links))
	if err != nil {
		return nil, err
	}
	others := map[catalog.Name]error{}
	for _, l := range s.Policy.Local {
		if err := s.otherThan(l.Name, r, links, there); err != nil {
			others[l.Name] = err
		}
	}
	return others, nil
}

// otherThan says which objects have answered that are not those of a local table, nil if there are none.
func (s Site) otherThan(n catalog.Name, r ledger.Ruling, links []accountant.Link, there map[uint32]relation) error {
	scope := accountant.Scope{Kind: accountant.LocalScope, Name: n.String()}
	now := slices.IndexFunc(r.Links, func(l accountant.Link) bool { return l.Scope == scope && l.Table.Name == n.String() })
	for _, l := range links {
		if l.Scope.Kind == accountant.LocalScope && l.Table.Name == scope.Name && l.Table.ID == "" {
			scope = l.Scope // the budget, by its name in the ledger
		}
	}
	for _, l := range links {
		oid := r.OID(l.Table)
		is, exists := there[oid]
		if l.Scope != scope || !exists || now >= 0 && slices.Contains(is.within, r.OID(r.Links[now].Table)) {
			continue
		}
		itself := slices.Contains(links, accountant.Link{Scope: scope, Table: accountant.Table{Name: l.Table.Name}})
		if listed := s.protects(is.name); itself || listed {
			const text = "objects of %v have answered, which was %s then, and is no part of %v by now"
			return fmt.Errorf(text, is.name, l.Table.Name, n)
		}
	}
	return nil
}

// protects reports whether the policy has a relation that is not public.
func (s Site) protects(n catalog.Name) bool {
	for _, t := range s.Policy.Tables.Tables {
		if t.Name == n {
			return !t.Public
		}
	}
	local := func(l policy.LocalTable) bool { return l.Name == n }
	return slices.Contains(s.ViewNames(), n) || slices.ContainsFunc(s.Policy.Local, local)
}

// oidsIn are the OIDs of the tables of links that are in the database of a ruling.
func oidsIn(r ledger.Ruling, links []accountant.Link) (oids []uint32) {
	for _, l := range links {
		if oid := r.OID(l.Table); l.Scope.Kind == accountant.LocalScope && oid != 0 {
			oids = append(oids, oid)
		}
	}
	return oids
}

// relationsByOID reads the relations that there are.
func relationsByOID(ctx context.Context, conn *pgx.Conn, oids []uint32) (map[uint32]relation, error) {
	rows, err := conn.Query(ctx, `SELECT c.oid, n.nspname, c.relname,
			ARRAY(SELECT c.oid UNION SELECT a.relid::pg_catalog.oid FROM pg_catalog.pg_partition_ancestors(c.oid) a)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE c.oid OPERATOR(pg_catalog.=) ANY ($1)`, oids)
	if err != nil {
		return nil, fmt.Errorf("reading the tables whose objects have answered: %w", err)
	}
	there := map[uint32]relation{}
	var oid uint32
	var is relation
	_, err = pgx.ForEachRow(rows, []any{&oid, &is.name.Schema, &is.name.Name, &is.within}, func() error {
		there[oid] = relation{is.name, slices.Clone(is.within)}
		return nil
	})
	return there, err
}
