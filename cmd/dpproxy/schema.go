package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// schemaInterval is how often the schema of the protected database is compared with the
// one that the policy was checked against. Each read compares it too.
const schemaInterval = 15 * time.Second

// serveCatalog checks the policy against the protected database, for serving. A relation that
// has changed since the last sync is taken as it was when it was confirmed: the policy has to
// fit then. It is refused nevertheless (refuseUnconfirmed), so that nothing is planned or proved
// by its old form; the misfits are logged.
func (s *host) serveCatalog(ctx context.Context, log *slog.Logger) (*policy.Model, error) {
	schema, err := s.readSchema(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := s.connectMirror(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	plan := s.mirrorPlan()
	if _, problems := s.fit(plan, schema); len(problems) > 0 {
		if err := asConfirmed(ctx, conn, schema); err != nil {
			return nil, err
		}
		if _, left := s.fit(plan, schema); len(left) > 0 {
			return nil, s.annotate(left)
		}
		for _, p := range problems {
			log.Error("the policy does not fit the protected database any more: statements about what changed are refused",
				"problem", p.String(), "to do", confirmHint)
		}
	}
	if schema.PublicRows, err = mirror.CountRows(ctx, conn, plan.Public); err != nil {
		return nil, fmt.Errorf("%w (is the mirror in order? dpproxy sync makes it)", err)
	}
	if schema.PublicRepeats, err = mirror.CountRepeats(ctx, conn, schema.PublicRows); err != nil {
		return nil, err
	}
	cat, problems := s.fit(plan, schema)
	return cat, s.annotate(problems)
}

// asConfirmed gives the relations that have changed since the last sync their form of then,
// but with neither an OID nor a fingerprint: a read cannot find them as they should be. A
// relation that was never confirmed stays as it is.
func asConfirmed(ctx context.Context, conn *pgx.Conn, schema *catalog.Schema) error {
	was, err := mirror.Confirmed(ctx, conn)
	if err != nil || was == nil {
		return err
	}
	for n, t := range was.Tables {
		if has := schema.Tables[n]; has == nil || has.Fingerprint != t.Fingerprint {
			t.OID, t.Fingerprint = 0, ""
			schema.Tables[n] = t
		}
	}
	for n, t := range was.Types {
		if schema.Types[n] == nil {
			schema.Types[n] = t
		}
	}
	return nil
}

// refuseUnconfirmed turns off tables whose schema has changed since the last sync, in which an
// administrator saw how the policy fits, and tables that hide other columns than the mirror.
func (s *host) refuseUnconfirmed(ctx context.Context, cat *policy.Model, data *reader.Data, log *slog.Logger) error {
	conn, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	confirmed, err := mirror.Confirmed(ctx, conn)
	if err != nil {
		return err
	}
	if confirmed == nil {
		return errors.New("the mirror was not made by this version of dpproxy: run dpproxy sync")
	}
	for _, n := range cat.Relations() {
		was, has := confirmed.Tables[n], cat.Source(n).Fingerprint
		if was != nil && has != "" && has == was.Fingerprint {
			continue
		}
		data.TurnOff(n)
		log.Error("the schema of a table has changed since the last sync: statements about it are refused",
			"table", n.String(), "to do", confirmHint)
	}
	return s.refuseOtherColumns(ctx, cat, data, conn, log)
}

// refuseOtherColumns turns off the relations of which the mirror shows a column that the
// policy hides by now, or lacks one that it hides no more.
func (s *host) refuseOtherColumns(ctx context.Context, cat *policy.Model, data *reader.Data, conn *pgx.Conn, log *slog.Logger) error {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, n := range cat.Relations() {
		schema.Tables[n] = cat.Source(n)
	}
	others, err := s.mirrorPlanOf(cat).OtherColumns(ctx, conn, schema)
	for _, n := range others {
		data.TurnOff(n)
		log.Error("the mirror has other columns than the policy shows: statements about the table are refused",
			"table", n.String(), "to do", confirmHint)
	}
	return err
}

const confirmHint = "dpproxy check, dpproxy sync, and a restart"

// watchSchema turns tables off whose schema changes while dpproxy serves.
func (v *service) watchSchema(ctx context.Context) {
	tick := time.NewTicker(schemaInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := v.recheckSchema(ctx); err != nil && ctx.Err() == nil {
			v.log.Warn("the schema of the protected database could not be compared", "error", err)
		}
	}
}

func (v *service) recheckSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, schemaInterval)
	defer cancel()
	conn, err := v.host.connectData(ctx)
	if err != nil {
		return fmt.Errorf("recheck: %w", err)
	}
	defer conn.Close(ctx)
	changed, err := v.data.Recheck(ctx, conn)
	for _, n := range changed {
		v.log.Error("the schema of a table changed: statements about it are refused", "table", n.String(), "to do", confirmHint)
	}
	return err
}
