package demo

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Source is a data set that Load can put into a database.
type Source interface {
	// Tables returns the tables, each after the tables that it references.
	Tables() []Table
}

// A Table is one relation of a Source.
type Table struct {
	Name    string
	Columns []Column
	// Keys are table constraints in SQL; they are added when the rows are in.
	Keys []string
	// Indexed are the columns that get an index of their own.
	Indexed []string
	// Total is the number of rows.
	Total int64
	// Rows yields the rows, one value a column. A row is valid until the next one.
	Rows iter.Seq2[[]any, error]
}

// A Column is a column's name and its SQL type, NOT NULL included.
type Column struct{ Name, Type string }

// oneOf is a CHECK that lists the values of a column.
func oneOf(column string, values []string) string {
	return fmt.Sprintf("CHECK (%s IN ('%s'))", column, strings.Join(values, "', '"))
}

// KeysAndIndexes is the name under which Load reports the work after the last row.
const KeysAndIndexes = "keys and indexes"

// progressEvery is how many rows pass between two reports: some thousand reports
// for the largest table would cost nothing, but nobody could read them.
const progressEvery = 10_000

// Load creates the tables of a source and fills them, in one transaction: after an
// error nothing is left. Rows stream, so memory does not grow with the data.
//
// progress may be nil. It is called every few thousand rows and at each table's
// end, then once a table under the name KeysAndIndexes; never concurrently, but
// not always on the caller's goroutine.
func Load(ctx context.Context, conn *pgx.Conn, data Source, progress func(table string, done, total int64)) error {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	tables := data.Tables()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, t := range tables {
			if err := t.fill(ctx, tx, progress); err != nil {
				return fmt.Errorf("demo: loading %s: %w", t.Name, err)
			}
		}
		return finish(ctx, tx, tables, progress)
	})
}

// finish adds indexes and constraints, which are cheaper to build over a full table than row by row.
func finish(ctx context.Context, tx pgx.Tx, tables []Table, progress func(string, int64, int64)) error {
	if _, err := tx.Exec(ctx, "SET LOCAL maintenance_work_mem = '128MB'"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	for i, t := range tables {
		for _, statement := range t.finishing() {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("demo: finishing %s: %w", t.Name, err)
			}
		}
		progress(KeysAndIndexes, int64(i+1), int64(len(tables)))
	}
	return nil
}

// fill creates the table and copies its rows.
func (t Table) fill(ctx context.Context, tx pgx.Tx, progress func(string, int64, int64)) error {
	if _, err := tx.Exec(ctx, t.create()); err != nil {
		return err
	}
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	next, stop := iter.Pull2(t.Rows)
	defer stop()
	rows := &rowStream{next: next, report: func(done int64) { progress(t.Name, done, t.Total) }}
	copied, err := tx.CopyFrom(ctx, pgx.Identifier{t.Name}, names, rows)
	if err != nil {
		return err
	}
	if copied != t.Total {
		return fmt.Errorf("%d rows arrived, %d were announced", copied, t.Total)
	}
	progress(t.Name, copied, t.Total)
	return nil
}

func (t Table) create() string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = quoteName(c.Name) + " " + c.Type
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", quoteName(t.Name), strings.Join(columns, ", "))
}

// finishing returns the statements that turn the filled table into a finished one.
func (t Table) finishing() []string {
	name := quoteName(t.Name)
	statements := make([]string, 0, len(t.Keys)+len(t.Indexed)+1)
	for _, key := range t.Keys {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD %s", name, key))
	}
	for _, column := range t.Indexed {
		statements = append(statements, fmt.Sprintf("CREATE INDEX ON %s (%s)", name, quoteName(column)))
	}
	return append(statements, "ANALYZE "+name)
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// A rowStream hands pulled rows to CopyFrom and counts them.
type rowStream struct {
	next   func() ([]any, error, bool)
	report func(done int64)
	row    []any
	err    error
	done   int64
}

var _ pgx.CopyFromSource = (*rowStream)(nil)

// Next reads one row, as pgx.CopyFromSource asks.
func (s *rowStream) Next() bool {
	row, err, ok := s.next()
	if !ok || err != nil {
		s.err = err
		return false
	}
	s.row = row
	s.done++
	if s.done%progressEvery == 0 {
		s.report(s.done)
	}
	return true
}

// Values returns the row that Next read.
func (s *rowStream) Values() ([]any, error) { return s.row, nil }

// Err returns the error that ended the rows, if one did.
func (s *rowStream) Err() error { return s.err }
