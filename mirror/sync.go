package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/steady"
)

// Sync makes the mirror as the plan and the upstream catalogue say, copies the rows
// of public tables, and proves that nothing can be read there that the plan does not permit. It reports
// each change. An object that is as it should be keeps its OID and its rows: a second run writes
// nothing.
//
// A statement on the mirror sees all of it or nothing. (A transaction of REPEATABLE READ
// that is older than Sync can find a public table empty that was made anew, as after any
// DDL of Postgres.) Sync waits a moment for transactions that have a changed relation open,
// and gives up if they do not end. If the mirror was made for another policy, or from other relations of those names, and showed other
// tables, definitions or labels, the sessions of analysts are ended.
//
// The connection to the mirror must be a superuser's, for the rights that Sync
// withdraws from PUBLIC; the one to the real database needs SELECT on the relations of the plan, which Sync locks
// there. All is one transaction: after an error the mirror is as it was. Sync changes
// or drops nothing that it did not make, and fails where such a thing is in its way.
func Sync(ctx context.Context, upstream, mirror *pgx.Conn, plan Plan, report func(change string)) error {
	if err := sync(ctx, upstream, mirror, plan, report); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

func sync(ctx context.Context, upstream, mirror *pgx.Conn, plan Plan, report func(string)) error {
	if err := plan.check(); err != nil {
		return err
	}
	sameServer := OnSameServer(ctx, upstream, mirror)
	for n := 1; ; n++ {
		changes, err := try(ctx, upstream, mirror, plan, sameServer)
		if busy(err) && n < tries {
			continue // the wait for the lock was the pause
		}
		for _, c := range changes {
			report(c)
		}
		if busy(err) {
			return inUse(ctx, mirror, err)
		}
		return err
	}
}

// try makes the mirror in one transaction, from one of the real database, and returns its changes. A try that fails leaves no
// lock behind in the real database.
func try(ctx context.Context, upstream, mirror *pgx.Conn, plan Plan, sameServer bool) ([]string, error) {
	from, err := steady.Open(ctx, upstream, plan.names())
	if err != nil {
		return nil, err
	}
	defer from.Rollback(ctx)
	schema, err := plan.fit(ctx, from)
	if err != nil {
		return nil, err
	}
	to, err := mirror.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer to.Rollback(ctx)
	var changes []string
	if err := build(ctx, from, to, plan, schema, sameServer, func(c string) { changes = append(changes, c) }); err != nil {
		return nil, err
	}
	if err := unchanged(ctx, upstream, slices.Collect(maps.Values(schema.Tables))); err != nil {
		return nil, err
	}
	if err := to.Commit(ctx); err != nil {
		return nil, err
	}
	return changes, nil
}

// unchanged compares the relations once more, behind the copying of rows and before anybody sees them, while the transaction on
// upstream still has its locks: see package steady.
func unchanged(ctx context.Context, upstream *pgx.Conn, relations []*catalog.Table) error {
	beside, err := pgx.ConnectConfig(ctx, upstream.Config())
	if err != nil {
		return err
	}
	defer beside.Close(ctx)
	if _, err := beside.Exec(ctx, "SET jit = off"); err != nil { // see introspect.PlainText
		return err
	}
	return steady.Compare(ctx, beside, relations)
}

// tries is how often Sync tries to get at relations that sessions have open. Each try waits
// for a lock for half of deadlock_timeout, in all 10 s by default: so where a session and
// Sync wait for each other it is never the session that ends in an error.
var tries = 20

// build runs the steps on the mirror, the proof last.
func build(ctx context.Context, from, to pgx.Tx, plan Plan, schema *catalog.Schema, sameServer bool, report func(string)) error {
	database, err := prepare(ctx, to, report)
	if err != nil {
		return err
	}
	if !plan.TakeOver {
		if err := CheckSite(ctx, to, plan); err != nil {
			return err
		}
	}
	if plan.keepsPublished, err = publishes(ctx, to, plan); err != nil {
		return err
	}
	before, err := shown(ctx, to)
	if err != nil {
		return err
	}
	was, err := recordOf(ctx, to)
	if err != nil {
		return err
	}
	was.withFormer(schema.Local)
	var now Origins
	if err := now.readRelations(ctx, from, schema); err != nil {
		return err
	}
	if err := dropAnswers(ctx, to, plan, before, was, schema, now, report); err != nil {
		return err
	}
	made, warnings, err := standIns(ctx, to, plan.visible(schema))
	if err != nil {
		return err
	}
	objects, err := plan.objects(made, database)
	if err != nil {
		return err
	}
	if err := harden(ctx, to, sameServer, report); err != nil {
		return err
	}
	// A foreign key can only be made when the rows that it is about are there.
	copied := false
	rows := func() (err error) {
		copied, err = copyRows(ctx, from, to, made, plan.Public, report)
		return err
	}
	r := &reconciler{tx: to, report: report, warnings: warnings}
	if err := r.reconcile(ctx, objects, rows); err != nil {
		return err
	}
	for _, a := range plan.Analysts {
		for _, role := range append(a.aside(), a) {
			if err := keepLogin(ctx, to, database, role, report); err != nil {
				return err
			}
		}
	}
	if err := keepReaders(ctx, to, plan, report); err != nil {
		return err
	}
	if err := note(ctx, to, plan, schema, copied, report); err != nil {
		return err
	}
	if !was.isOf(plan, schema) {
		if err := endSessions(ctx, to, was, before, schema); err != nil {
			return err
		}
	}
	return verify(ctx, to, plan, schema, now)
}

// note writes the records of the mirror: that rows were copied, if they were, and of which schema it is made.
func note(ctx context.Context, to pgx.Tx, plan Plan, schema *catalog.Schema, copied bool, report func(string)) error {
	if copied {
		if err := copiedRecords.write(ctx, to, []byte{}); err != nil {
			return err
		}
	}
	return confirm(ctx, to, plan, schema, report)
}
