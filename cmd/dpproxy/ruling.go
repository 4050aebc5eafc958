package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/catalog"
	"dpproxy/proxy/cashier"
)

// A ruling has the budgets of a policy, for the tables that the protected database has by now.
type ruling struct {
	history.PolicyEntry
	// database names the protected database, so that OIDs of another one are not taken for its own; empty: it does not tell.
	database string
}

// A budgetSite is the part of a site that is of budgets.
type budgetSite struct{ *site }

// ruling reads which tables the budgets of the policy are for.
func (s budgetSite) ruling(ctx context.Context) (r ruling, err error) {
	if r.Limits, err = s.policy.Scopes(); err != nil {
		return r, err
	}
	conn, err := s.connectData(ctx)
	if err != nil {
		return r, err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, `SELECT c.system_identifier || '/' || d.oid FROM pg_catalog.pg_control_system() c, pg_catalog.pg_database d
		WHERE d.datname = pg_catalog.current_database()`).Scan(&r.database); err != nil && conn.IsClosed() {
		return r, err
	}
	scopes := map[catalog.Name]accountant.Scope{}
	for _, l := range r.Limits {
		if l.Scope.Kind != accountant.TableScope && l.Scope.Kind != accountant.LocalScope {
			continue
		}
		for _, n := range s.tablesOf(l.Scope) {
			scopes[n] = l.Scope
		}
	}
	if err := r.readLinks(ctx, conn, scopes); err != nil {
		return r, err
	}
	return r, r.readParts(ctx, conn)
}

// tablesOf names the table of a budget, and its listed partitions.
func (s budgetSite) tablesOf(scope accountant.Scope) (names []catalog.Name) {
	for _, t := range s.policy.Local {
		if scope.Kind == accountant.LocalScope && t.Name.String() == scope.Name {
			names = append(names, t.Name)
		}
	}
	for _, t := range s.policy.Tables.Tables {
		if scope.Kind == accountant.TableScope && (t.Name.String() == scope.Name || s.policy.PartitionOf[t.Name].String() == scope.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// readLinks reads the OIDs of tables that have budgets.
func (r *ruling) readLinks(ctx context.Context, conn *pgx.Conn, scopes map[catalog.Name]accountant.Scope) error {
	var schemas, tables []string
	for _, n := range sortedNames(scopes) {
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
		t := accountant.Table{Name: n.String(), ID: cashier.TableID(r.database, oid)}
		r.Links = append(r.Links, accountant.Link{Scope: scopes[n], Table: t})
		return nil
	})
	return err
}

// rule has the ledger take the budgets of a policy, and says which limits that lowers. It refuses one that does not have the
// budgets that the ledger has.
func rule(ctx context.Context, b *books, ledger accountant.Ledger, r ruling, log *slog.Logger) error {
	own, ok := ledger.(interface {
		SetPolicy(ctx context.Context, p history.PolicyEntry) error
	})
	if !ok {
		return fmt.Errorf("a %T has fixed limits", ledger)
	}
	before, err := ledger.Balances(ctx)
	if err != nil {
		return b.advise(err)
	}
	if err := own.SetPolicy(ctx, r.PolicyEntry); err != nil {
		return b.advise(err)
	}
	after, err := ledger.Balances(ctx)
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

// checkRuling refuses budgets of the policy that the ledger would refuse, if there is one that can be read.
func (c *checkCommand) checkRuling(ctx context.Context, s *site) error {
	r, err := budgetSite{s}.ruling(ctx)
	if err != nil {
		return err
	}
	b := &books{policy: s.policy}
	a, err := b.audit(ctx, slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, logledger.ErrNoLedger), errors.Is(err, redisledger.ErrNoLedger):
		return nil
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: NOT checked against the ledger: %v\n", c.Policy, err)
		return nil
	}
	if err := history.Allows(a.state, r.PolicyEntry); err != nil {
		return b.advise(err)
	}
	others, err := localSite{s}.otherObjects(ctx, r, history.LinksOf(a.state))
	for _, n := range sortedNames(others) {
		err = errors.Join(err, fmt.Errorf("local table %v: %w", n, others[n]))
	}
	return err
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
