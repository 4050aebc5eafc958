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
	"dpproxy/planner"
	"dpproxy/proxy"
)

// schemaInterval is how often the schema of the protected database is compared with the
// one that the policy was checked against. Each read compares it too.
const schemaInterval = 15 * time.Second

// refuseUnconfirmed turns off the tables whose schema has changed since the last sync, as
// who ran that has seen how the policy fits, and those that hide other columns than the
// mirror.
func (s *site) refuseUnconfirmed(ctx context.Context, cat *planner.Catalog, data *proxy.Data, log *slog.Logger) error {
	conn, err := s.connectMirror(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	confirmed, err := mirror.Confirmed(ctx, conn)
	if err != nil {
		return err
	}
	if len(confirmed) == 0 {
		return errors.New("the mirror was not made by this version of dpproxy: run dpproxy sync")
	}
	for _, n := range cat.Relations() {
		if confirmed[n] == cat.Source(n).Fingerprint {
			continue
		}
		data.TurnOff(n)
		log.Error("the schema of a table has changed since the last sync: statements about it are refused", "table", n.String(), "to do", confirmHint)
	}
	return s.refuseOtherColumns(ctx, cat, data, conn, log)
}

// refuseOtherColumns turns off the relations of which the mirror shows a column that the
// policy hides by now, or lacks one that it hides no more.
func (s *site) refuseOtherColumns(ctx context.Context, cat *planner.Catalog, data *proxy.Data, conn *pgx.Conn, log *slog.Logger) error {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, n := range cat.Relations() {
		schema.Tables[n] = cat.Source(n)
	}
	others, err := s.mirrorPlanOf(cat).OtherColumns(ctx, conn, schema)
	for _, n := range others {
		data.TurnOff(n)
		log.Error("the mirror has other columns than the policy shows: statements about the table are refused", "table", n.String(), "to do", confirmHint)
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
	conn, err := v.site.connectData(ctx)
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
