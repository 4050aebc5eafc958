package reader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// TurnOff refuses a relation, before anything is charged, until dpproxy is started anew.
func (d *Data) TurnOff(t catalog.Name) { d.turnOff(t) }

// Recheck compares the schema of every relation of the policy with the one that the policy
// was checked against, and turns off the ones that changed. It returns the relations that it
// turned off now. A read compares the schema of its relations too, in its own snapshot.
//
// It takes a connection of the caller's, so that no statement waits for it.
func (d *Data) Recheck(ctx context.Context, conn *pgx.Conn) ([]catalog.Name, error) {
	all := d.catalog.Relations()
	changed, err := d.compare(ctx, conn, all)
	if err != nil {
		return nil, err
	}
	changed = slices.DeleteFunc(changed, func(n catalog.Name) bool { _, off := d.TurnedOff([]catalog.Name{n}); return off })
	for _, n := range changed {
		d.turnOff(n)
	}
	return changed, nil
}

// compare returns the relations that are not as in the catalogue.
func (d *Data) compare(ctx context.Context, conn *pgx.Conn, relations []catalog.Name) ([]catalog.Name, error) {
	oids := make([]uint32, len(relations))
	for i, n := range relations {
		oids[i] = d.catalog.Source(n).OID
	}
	rows, err := conn.Query(ctx, introspect.FingerprintOf(oids))
	if err != nil {
		return nil, err
	}
	have := map[uint32]string{}
	var oid uint32
	var digest string
	_, err = pgx.ForEachRow(rows, []any{&oid, &digest}, func() error {
		have[oid] = digest
		return nil
	})
	return slices.DeleteFunc(slices.Clone(relations), func(n catalog.Name) bool {
		source := d.catalog.Source(n)
		return have[source.OID] == source.Fingerprint
	}), err
}

// explainChange turns off the relations that have changed, and returns the client's error. They stay
// on if all is again as it was checked: the next statement checks it anew. Where the
// schema cannot be compared any more, all that the statement reads is turned off.
//
// The policy's limit bounds its time, not the statement's own: an analyst's timeout must not turn
// tables off.
func (r *Reading) explainChange(ctx context.Context, policy time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), policy)
	defer cancel()
	d, conn := r.c.data, r.c.conn.Conn()
	var changed []catalog.Name
	_, err := conn.Exec(ctx, "ROLLBACK")
	if err == nil {
		changed, err = d.compare(ctx, conn, r.plan.Relations)
	}
	if err != nil {
		changed = r.plan.Relations
	}
	if len(changed) == 0 {
		return pgerr.New(pgerr.SchemaChanged,
			"the schema was not the one that the policy was checked against when the statement was to be read").
			WithHint("It may be by now: send the statement again.")
	}
	for _, n := range changed {
		d.turnOff(n)
	}
	return SchemaChanged(r.plan.Untold.Name(changed[0]))
}

var errChanged = errors.New("reader: the schema changed")

// orChanged returns errChanged for the error in which the check of the schema ends.
func orChanged(err error) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == introspect.NotUnchanged {
		return errChanged
	}
	return err
}

// lockSQL locks the relations of a plan against changes of their schema, but for public views and
// foreign tables: nothing is proved by them, and not all of them can be locked.
func (d *Data) lockSQL(plan *planner.Plan) string {
	var names []string
	for _, t := range plan.Relations {
		if kind := d.catalog.Source(t).Kind; kind == 'r' || kind == 'p' || slices.Contains(plan.Tables, t) {
			names = append(names, ast.QuoteIdent(t.Schema)+"."+ast.QuoteIdent(t.Name))
		}
	}
	return "LOCK TABLE " + strings.Join(names, ", ") + " IN ACCESS SHARE MODE"
}
