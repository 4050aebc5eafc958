// Command pqclient drives dpproxy with lib/pq.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/lib/pq"
)

const (
	columns = `SELECT table_schema, table_name, column_name, udt_name FROM information_schema.columns
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
	db, err := sql.Open("postgres", "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	fmt.Println("connect: ok")
	if err := forEachRow(ctx, db, columns, func(row []any) { fmt.Printf("list: %s\n", row) }); err != nil {
		return err
	}
	if slices.Equal(os.Args[1:], []string{"list"}) {
		return nil
	}
	err = forEachRow(ctx, db, aggregate, func(row []any) { fmt.Printf("aggregate: %v/%T #/%T #/%T\n", row[0], row[0], row[1], row[2]) }, 0)
	if err != nil {
		return err
	}
	if err := page(ctx, db); err != nil {
		return err
	}
	return fail(ctx, db)
}

// forEachRow calls f with the values of each row.
func forEachRow(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, f func([]any), args ...any,
) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f(row)
	}
	return rows.Err()
}

func page(ctx context.Context, db *sql.DB) error {
	var before, after, rows int
	if err := db.QueryRowContext(ctx, charges).Scan(&before); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DECLARE pages CURSOR FOR "+pages); err != nil {
		return err
	}
	for more := true; more; {
		more = false
		if err := forEachRow(ctx, tx, "FETCH 1 FROM pages", func([]any) { more = true; rows++ }); err != nil {
			return err
		}
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, charges).Scan(&after); err != nil {
		return err
	}
	fmt.Println("page:", rows, "rows", after-before, "charge")
	return nil
}

func fail(ctx context.Context, db *sql.DB) error {
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err := db.ExecContext(short, "SELECT pg_sleep(60)")
	if refused, ok := errors.AsType[*pq.Error](err); ok {
		fmt.Println("cancel:", refused.Code)
	}
	_, err = db.ExecContext(ctx, "SELECT * FROM patients")
	if refused, ok := errors.AsType[*pq.Error](err); ok {
		fmt.Println("error:", refused.Code, refused.Message, "at", refused.Position)
	}
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	fmt.Println("recover:", one)
	return err
}
