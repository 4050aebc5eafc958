package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
)

// Confirmed returns the relations of the real database as they were when the mirror was last
// made, hidden columns and all: with these the administrator took the policy to fit. It is
// nil for a mirror that never was. Time zones, collations and rows are not recorded.
func Confirmed(ctx context.Context, mirror *pgx.Conn) (*catalog.Schema, error) {
	text, err := confirmed(ctx, mirror)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if ok && refused.Code == undefinedTable {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil || text == "" {
		return nil, wrapConfirmed(err)
	}
	var r confirmation
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, wrapConfirmed(err)
	}
	s := &catalog.Schema{
		ServerVersion: r.ServerVersion, Database: r.Database,
		Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{},
	}
	for _, t := range r.Tables {
		s.Tables[t.Name] = t
	}
	for _, t := range r.Types {
		s.Types[t.Name] = t
	}
	return s, nil
}

// undefinedTable is the SQLSTATE of a mirror without dp.confirmed.
const undefinedTable = "42P01"

func wrapConfirmed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mirror: read what was confirmed: %w", err)
}

// confirmation is the JSON of dp.confirmed, which only superusers read.
type confirmation struct {
	Database      string
	ServerVersion int
	Tables        []*catalog.Table // by name
	Types         []*catalog.Type  // by name
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// confirmed returns the recorded text, empty if there is none.
func confirmed(ctx context.Context, q querier) (text string, err error) {
	err = q.QueryRow(ctx, "SELECT definition FROM dp.confirmed").Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// confirm records the schema that Sync has read.
func confirm(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema, report func(string)) error {
	r := confirmation{Database: s.Database, ServerVersion: s.ServerVersion}
	for _, n := range p.names() {
		r.Tables = append(r.Tables, s.Tables[n])
	}
	for _, t := range s.Types {
		r.Types = append(r.Types, t)
	}
	slices.SortFunc(r.Tables, func(x, y *catalog.Table) int { return x.Name.Compare(y.Name) })
	slices.SortFunc(r.Types, func(x, y *catalog.Type) int { return x.Name.Compare(y.Name) })
	want, err := json.Marshal(r)
	if err != nil {
		return err
	}
	have, err := confirmed(ctx, tx)
	if err != nil || have == string(want) {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM dp.confirmed"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO dp.confirmed VALUES ($1)", string(want)); err != nil {
		return err
	}
	report("confirm the schema of the real database")
	return nil
}
