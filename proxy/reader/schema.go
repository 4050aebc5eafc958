package reader

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// TurnOff refuses a relation from now on, before anything is charged. Why names the change as far as analysts may know it, or is empty.
func (d *Data) TurnOff(t catalog.Name, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off[t] = why
}

// TurnedOff returns one of the relations that are refused, if there is one.
func (d *Data) TurnedOff(relations []catalog.Name) (catalog.Name, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range relations {
		if _, off := d.off[n]; off {
			return n, true
		}
	}
	return catalog.Name{}, false
}

// Off lists the relations that are refused.
func (d *Data) Off() []catalog.Name {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Keys(d.off), catalog.Name.Compare)
}

// Outdate notes the public tables that have other rows by now than the mirror, and no others.
func (d *Data) Outdate(tables []catalog.Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outdated = tables
}

// Outdated returns the public tables that have other rows by now than the mirror.
func (d *Data) Outdated() []catalog.Name {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.outdated
}

// SchemaChanged refuses a statement about a relation whose schema has changed.
func (d *Data) SchemaChanged(n catalog.Name, untold planner.Untold) error {
	d.mu.Lock()
	why := d.off[n]
	d.mu.Unlock()
	if _, hidden := untold[n]; hidden || why == "" {
		why = ""
	} else {
		why = ": " + why
	}
	return pgerr.New(pgerr.SchemaChanged, "the schema of %s is not the one that its policy was checked against%s", untold.Name(n), why).
		WithHint("Nothing was charged. The administrator must run dpproxy check, and then dpproxy sync.")
}

// Recheck compares the schema of every relation of the policy with the schema that the policy was checked against. It turns off the
// relations that changed, and returns the relations that it turned off now. A read compares the schema of its relations too, in its own
// snapshot.
//
// It uses a connection of the caller's, so that no statement waits for it.
func (d *Data) Recheck(ctx context.Context, conn *pgx.Conn) ([]catalog.Name, error) {
	all := d.catalog.Relations()
	changed, err := d.compare(ctx, conn, all)
	if err != nil {
		return nil, err
	}
	changed = slices.DeleteFunc(changed, func(n catalog.Name) bool { _, off := d.TurnedOff([]catalog.Name{n}); return off })
	for _, n := range changed {
		d.TurnOff(n, "")
	}
	return changed, nil
}

// compare returns the relations that differ from the catalogue.
func (d *Data) compare(ctx context.Context, conn *pgx.Conn, relations []catalog.Name) ([]catalog.Name, error) {
	rows, err := conn.Query(ctx, introspect.FingerprintOf(d.fingerprints(relations)))
	if err != nil {
		return nil, err
	}
	have := map[uint32]string{}
	var oid uint32
	var fingerprint string
	_, err = pgx.ForEachRow(rows, []any{&oid, &fingerprint}, func() error {
		have[oid] = fingerprint
		return nil
	})
	return slices.DeleteFunc(slices.Clone(relations), func(n catalog.Name) bool {
		source := d.catalog.Source(n)
		return have[source.OID] == source.Fingerprint
	}), err
}

// explainChange turns off the relations that have changed, and returns the client's error. If all relations are again as they were checked,
// they stay on: the next statement checks them anew. If the schema can no longer be compared, all relations of the statement are turned
// off.
//
// The policy's limit bounds its time, and not the statement's own timeout: an analyst's timeout must not turn tables off.
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
		d.TurnOff(n, "")
	}
	return d.SchemaChanged(changed[0], r.plan.Untold)
}

// errMore says that there are more public rows than those by which the reading was planned.
func (r *Reading) errMore(c planner.Count) error {
	why := "%s has more rows by now than its copy, of which it was counted how many each row can meet"
	if c.Beyond {
		why = "%s has values by now that are beyond those of its copy, by which a column is bounded"
	}
	return pgerr.New(pgerr.SchemaChanged, why, r.plan.Untold.Name(c.Table)).
		WithHint("Nothing was charged. The administrator must run dpproxy sync, which copies public rows.")
}

// sources returns the relations of a plan as the policy was checked against them. They include views over protected rows: a view's query is
// read in the place of the view, and is the right one as long as the view is as it was.
func (d *Data) sources(plan *planner.Plan) []*catalog.Table {
	sources := make([]*catalog.Table, len(plan.Relations))
	for i, n := range plan.Relations {
		sources[i] = d.catalog.Source(n)
	}
	return sources
}
