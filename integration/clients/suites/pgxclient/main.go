// Command pgxclient drives dpproxy with pgx.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	columns = `SELECT table_schema::text, table_name::text, column_name::text, udt_name::text FROM information_schema.columns
		WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'dp') ORDER BY 1, 2, ordinal_position`
	aggregate = "SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > $1 GROUP BY diagnosis " +
		"ORDER BY diagnosis"
	pages   = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis"
	charges = "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, "")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	fmt.Println("connect: ok")
	rows, err := conn.Query(ctx, columns)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Schema, Table, Column, Type string }])
	if err != nil {
		return err
	}
	for _, column := range list {
		fmt.Println("list:", column)
	}
	if _, err := conn.LoadType(ctx, "sex"); err != nil {
		return err
	}
	if slices.Equal(os.Args[1:], []string{"list"}) {
		return nil
	}
	for _, step := range []func(context.Context, *pgx.Conn) error{aggregates, batch, page, fail} {
		if err := step(ctx, conn); err != nil {
			return err
		}
	}
	return nil
}

func aggregates(ctx context.Context, conn *pgx.Conn) error {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		rows, err := conn.Query(ctx, aggregate, mode, 0)
		if err != nil {
			return err
		}
		var diagnosis string
		var n int64
		var mean pgtype.Numeric
		tag, err := pgx.ForEachRow(rows, []any{&diagnosis, &n, &mean}, func() error { return nil })
		if err != nil {
			return err
		}
		fmt.Println("aggregate:", mode, tag)
	}
	return nil
}

func batch(ctx context.Context, conn *pgx.Conn) error {
	var b pgx.Batch
	for i := range 3 {
		b.Queue("SELECT count(*) FROM visits WHERE hospital_id > $1", i).QueryRow(func(row pgx.Row) error {
			var n int64
			return row.Scan(&n)
		})
	}
	err := conn.SendBatch(ctx, &b).Close()
	fmt.Println("batch:", b.Len(), err)
	return err
}

func page(ctx context.Context, conn *pgx.Conn) error {
	var before, after, rows int
	if err := conn.QueryRow(ctx, charges).Scan(&before); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DECLARE pages CURSOR FOR "+pages); err != nil {
			return err
		}
		for {
			tag, err := tx.Exec(ctx, "FETCH 1 FROM pages")
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			rows++
		}
	})
	if err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, charges).Scan(&after); err != nil {
		return err
	}
	fmt.Println("page:", rows, "rows", after-before, "charge")
	return nil
}

func fail(ctx context.Context, conn *pgx.Conn) error {
	timer := time.AfterFunc(300*time.Millisecond, func() { _ = conn.PgConn().CancelRequest(ctx) })
	defer timer.Stop()
	_, err := conn.Exec(ctx, "SELECT pg_sleep(60)")
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		fmt.Println("cancel:", refused.Code)
	}
	_, err = conn.Exec(ctx, "SELECT * FROM patients")
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		fmt.Println("error:", refused.Code, refused.Message, "at", refused.Position)
	}
	var one int
	err = conn.QueryRow(ctx, "SELECT 1").Scan(&one)
	fmt.Println("recover:", one)
	return err
}
