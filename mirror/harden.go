package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/quote"
)

// reachingOut are functions that PUBLIC may call on some server and that leave the
// session's own database or temporary schema: large objects stay behind, the others
// touch files or the write-ahead log.
const reachingOut = `^(lo_.*|loread|lowrite|pg_ls_.*|pg_read_.*|pg_stat_file|pg_logical_.*|pg_export_snapshot)$`

// wholeServer are functions that tell something about all databases of the server:
// how much is read, written and stored, and by how many sessions. They are taken
// from PUBLIC when the real database is on the server. The views over them
// (pg_stat_database, pg_stat_activity, pg_locks...) then fail too, and so does \l+.
const wholeServer = `^(pg_stat_get_db_.*|pg_stat_get_activity|pg_stat_get_backend_.*|pg_stat_get_progress_info` +
	`|pg_stat_get_wal.*|pg_stat_get_bgwriter.*|pg_stat_get_checkpoint.*|pg_stat_get_buf_.*|pg_stat_get_archiver` +
	`|pg_stat_get_slru|pg_stat_get_io|pg_stat_get_replication_.*|pg_stat_get_subscription.*|pg_stat_get_snapshot_timestamp` +
	`|pg_database_size|pg_tablespace_size|pg_current_wal_.*|pg_last_wal_.*|pg_get_wal_.*` +
	`|pg_available_wal_summaries|pg_wal_summary_contents|pg_control_.*|pg_lock_status` +
	`|pg_prepared_xact|pg_get_replication_slots|pg_get_replication_origin.*|pg_last_committed_xact|pg_xact_.*` +
	`|pg_current_snapshot|pg_current_xact_id.*|pg_snapshot_.*|txid_current.*)$`

// harden withdraws the rights that PUBLIC has by default and an analyst must not have. A function
// that is no longer withdrawn stays so on the mirrors that there are: nothing is granted here.
func harden(ctx context.Context, tx pgx.Tx, sameServer bool, report func(string)) error {
	if err := refuseLinks(ctx, tx, sameServer); err != nil {
		return err
	}
	if err := closeDatabase(ctx, tx, report); err != nil {
		return err
	}
	patterns := []string{reachingOut}
	if sameServer {
		patterns = append(patterns, wholeServer)
	}
	for _, p := range patterns {
		if err := revokeFunctions(ctx, tx, p, report); err != nil {
			return err
		}
	}
	return nil
}

// refuseLinks fails when something in the mirror can connect elsewhere, or counts
// the work of other databases.
func refuseLinks(ctx context.Context, tx pgx.Tx, sameServer bool) error {
	var found []string
	err := tx.QueryRow(ctx, `SELECT coalesce(array_agg(what ORDER BY what), '{}') FROM (
			SELECT 'extension ' || extname AS what FROM pg_extension
			WHERE extname IN ('dblink', 'postgres_fdw', 'file_fdw', 'adminpack')
				OR $1 AND extname IN ('pg_stat_statements', 'pg_buffercache', 'pg_walinspect')
			UNION ALL SELECT 'foreign server ' || srvname FROM pg_foreign_server
			UNION ALL SELECT 'subscription ' || subname FROM pg_subscription
				WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())) AS links`,
		sameServer).Scan(&found)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("the mirror must not reach other databases: drop %s", strings.Join(found, ", "))
	}
	return nil
}

// closeDatabase leaves analysts the right to connect and to make temporary tables,
// which PUBLIC loses, and nobody but the owner the right to make anything in public.
func closeDatabase(ctx context.Context, tx pgx.Tx, report func(string)) error {
	var database string
	var open, creatable bool
	err := tx.QueryRow(ctx, `SELECT datname,
			EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0),
			EXISTS (SELECT FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'public' AND grantee = 0 AND privilege_type = 'CREATE')
		FROM pg_database WHERE datname = current_database()`).Scan(&database, &open, &creatable)
	if err != nil {
		return err
	}
	if open {
		report("revoke all on database " + database + " from PUBLIC")
		_, err = tx.Exec(ctx, fmt.Sprintf("REVOKE ALL ON DATABASE %s FROM PUBLIC", quote.Ident(database)))
	}
	if creatable {
		report("revoke create on schema public from PUBLIC")
		_, more := tx.Exec(ctx, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		err = errors.Join(err, more)
	}
	return err
}

func revokeFunctions(ctx context.Context, tx pgx.Tx, pattern string, report func(string)) error {
	rows, err := tx.Query(ctx, `SELECT oid::regprocedure::text FROM pg_proc
		WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ $1 AND prokind = 'f'
			AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0)
		ORDER BY 1`, pattern)
	if err != nil {
		return err
	}
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(functions) == 0 {
		return err
	}
	report(fmt.Sprintf("revoke execute on %d functions of the server from PUBLIC", len(functions)))
	_, err = tx.Exec(ctx, fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", strings.Join(functions, ", ")))
	return err
}

// OnSameServer reports whether the mirror is on the server of the real database, or on a
// replica of it, whose counters tell how much is written there: the mirror should have a
// server of its own.
//
// It compares the identifiers that initdb gave the servers. Not being able to tell is yes.
func OnSameServer(ctx context.Context, upstream, mirror *pgx.Conn) bool {
	var ids [2]int64
	for i, conn := range []*pgx.Conn{upstream, mirror} {
		if conn.QueryRow(ctx, "SELECT system_identifier FROM pg_catalog.pg_control_system()").Scan(&ids[i]) != nil {
			return true
		}
	}
	return ids[0] == ids[1]
}
