package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/proxy/cashier"
)

// A Ruling has the budgets of a policy, for the tables that the protected database has by now.
type Ruling struct {
	history.PolicyEntry
	// Database names the protected database, so that OIDs of another one are not taken for its own; empty: it does not tell.
	Database string
}

// ReadRuling reads which tables the budgets of a site's policy are for.
func ReadRuling(ctx context.Context, s *site.Site) (r Ruling, err error) {
	if r.Limits, err = s.Policy.Scopes(); err != nil {
		return r, err
	}
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return r, err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, `SELECT c.system_identifier || '/' || d.oid FROM pg_catalog.pg_control_system() c, pg_catalog.pg_database d
		WHERE d.datname = pg_catalog.current_database()`).Scan(&r.Database); err != nil && conn.IsClosed() {
		return r, err
	}
	scopes := map[catalog.Name]accountant.Scope{}
	for _, l := range r.Limits {
		if l.Scope.Kind != accountant.TableScope && l.Scope.Kind != accountant.LocalScope {
			continue
		}
		for _, n := range tablesOf(s.Policy, l.Scope) {
			scopes[n] = l.Scope
		}
	}
	if err := r.readLinks(ctx, conn, scopes); err != nil {
		return r, err
	}
	return r, r.readParts(ctx, conn)
}

// tablesOf names the table of a budget, and its listed partitions.
func tablesOf(p *config.Policy, scope accountant.Scope) (names []catalog.Name) {
	for _, t := range p.Local {
		if scope.Kind == accountant.LocalScope && t.Name.String() == scope.Name {
			names = append(names, t.Name)
		}
	}
	for _, t := range p.Tables.Tables {
		if scope.Kind == accountant.TableScope && (t.Name.String() == scope.Name || p.PartitionOf[t.Name].String() == scope.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// readLinks reads the OIDs of tables that have budgets.
func (r *Ruling) readLinks(ctx context.Context, conn *pgx.Conn, scopes map[catalog.Name]accountant.Scope) error {
	var schemas, tables []string
	for _, n := range slices.SortedFunc(maps.Keys(scopes), catalog.Name.Compare) {
		schemas, tables = append(schemas, n.Schema), append(tables, n.Name)
	}
	rows, err := conn.Query(ctx, `SELECT w.s, w.t, coalesce(c.oid, 0)
		FROM ROWS FROM (pg_catalog.unnest(CAST($1 AS pg_catalog.text[])), pg_catalog.unnest(CAST($2 AS pg_catalog.text[]))) w(s, t)
		LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace)
			ON n.nspname OPERATOR(pg_catalog.=) w.s AND c.relname OPERATOR(pg_catalog.=) w.t ORDER BY 1, 2`, schemas, tables)
	if err != nil {
		return fmt.Errorf("reading the tables that have budgets: %w", err)
	}
	var n catalog.Name
	var oid uint32
	_, err = pgx.ForEachRow(rows, []any{&n.Schema, &n.Name, &oid}, func() error {
		t := accountant.Table{Name: n.String(), ID: cashier.TableID(r.Database, oid)}
		r.Links = append(r.Links, accountant.Link{Scope: scopes[n], Table: t})
		return nil
	})
	return err
}

// Rule has the ledger take the budgets of a policy, and says which limits that lowers. It refuses one that does not have the
// budgets that the ledger has.
func Rule(ctx context.Context, b *Books, l recorder, r Ruling, log *slog.Logger) error {
	before, err := l.Balances(ctx)
	if err != nil {
		return b.advise(err)
	}
	if err := l.SetPolicy(ctx, r.PolicyEntry); err != nil {
		return b.advise(err)
	}
	after, err := l.Balances(ctx)
	if err != nil {
		return b.advise(err)
	}
	for _, was := range before {
		i := slices.IndexFunc(after, func(is accountant.Balance) bool { return is.Scope == was.Scope })
		if i >= 0 && after[i].Limit != was.Limit {
			log.Warn("the policy lowers a budget", "budget", was.Scope.String(), "from", was.Limit.String(), "to", after[i].Limit.String())
		}
	}
	return nil
}

// adviseMissing says how a budget that the ledger has and the policy leaves out is put right.
func adviseMissing(e *accountant.MissingError) string {
	const decide = "dpproxy budget rename --scope %v --to %v --reason WHY POLICY keeps what is spent"
	switch {
	case e.Scope.Kind == accountant.UnitScope && e.Stated.Name != "":
		return fmt.Sprintf("set privacy_unit.name to %s again, or, if these are the same people, "+decide, e.Scope.Name, e.Scope, e.Stated)
	case e.Stated.Name != "":
		return fmt.Sprintf("give the table its name again, or "+decide, e.Scope, e.Stated)
	}
	return fmt.Sprintf("set %s again; if it has another name by now, "+decide+"; if it is to limit nothing any more, "+
		"dpproxy budget retire --scope %v --reason WHY POLICY", policyKey(e.Scope), e.Scope, string(e.Scope.Kind)+":NAME", e.Scope)
}

// readParts reads the OIDs of the partitions of local tables, whose objects are those of the table.
func (r *Ruling) readParts(ctx context.Context, conn *pgx.Conn) error {
	for _, l := range slices.Clone(r.Links) {
		oid := r.OID(l.Table)
		if l.Scope.Kind != accountant.LocalScope || oid == 0 {
			continue
		}
		rows, err := conn.Query(ctx, `SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid) p
			JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) p.relid
			JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE p.level OPERATOR(pg_catalog.>) 0 ORDER BY 1`, oid)
		if err != nil {
			return fmt.Errorf("reading the partitions of local tables: %w", err)
		}
		var n catalog.Name
		if _, err := pgx.ForEachRow(rows, []any{&oid, &n.Schema, &n.Name}, func() error {
			t := accountant.Table{Name: n.String(), ID: cashier.TableID(r.Database, oid)}
			r.Links = append(r.Links, accountant.Link{Scope: l.Scope, Table: t})
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// OID is the OID of a table, if it is in the database of the ruling: the inverse of [cashier.TableID].
func (r *Ruling) OID(t accountant.Table) uint32 {
	text, in := strings.CutPrefix(t.ID, r.Database+"/")
	oid, err := strconv.ParseUint(text, 10, 32)
	if !in || err != nil {
		return 0
	}
	return uint32(oid)
}

// Allows returns the error of budgets that the ledger, in a state, would refuse.
func Allows(b *Books, state *history.State, r Ruling) error {
	if err := history.Allows(state, r.PolicyEntry); err != nil {
		return b.advise(err)
	}
	return nil
}
