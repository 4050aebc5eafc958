package demo_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/internal/demo"
	"dpproxy/internal/pgtemp"
)

// connect starts a server for one test and connects to it.
func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// query returns the first column of a query's rows, as text.
func query(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func small(t *testing.T, seed uint64) *demo.Generator {
	t.Helper()
	g, err := demo.Generate(seed, demo.SmallSize)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// eachRow calls check with every row of a source; pointers are followed and numeric
// values are float64.
func eachRow(t *testing.T, source demo.Source, check func(table demo.Table, row []any)) {
	t.Helper()
	for _, table := range source.Tables() {
		for row, err := range table.Rows {
			if err != nil {
				t.Fatalf("%s: %v", table.Name, err)
			}
			plain := make([]any, len(row))
			for i, value := range row {
				plain[i] = follow(t, value)
			}
			check(table, plain)
		}
	}
}

func follow(t *testing.T, value any) any {
	t.Helper()
	switch v := value.(type) {
	case *bool:
		return pointed(v)
	case *int32:
		return pointed(v)
	case *float64:
		return pointed(v)
	case pgtype.Numeric:
		f, err := v.Float64Value()
		if err != nil {
			t.Fatal(err)
		}
		return f.Float64
	default:
		return value
	}
}

func pointed[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func digest(t *testing.T, source demo.Source) string {
	t.Helper()
	hash := sha256.New()
	eachRow(t, source, func(table demo.Table, row []any) { fmt.Fprintln(hash, table.Name, row) })
	return hex.EncodeToString(hash.Sum(nil))
}
