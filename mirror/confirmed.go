package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// Confirmed returns the relations of the real database as they were when the mirror was last
// made, hidden columns and all: with these the administrator took the policy to fit. It is
// nil for a mirror that never was. Time zones, collations and rows are not recorded.
func Confirmed(ctx context.Context, mirror *pgx.Conn) (*catalog.Schema, error) {
	text, err := confirmed(ctx, mirror)
	if err != nil || text == "" {
		return nil, wrapConfirmed(err) // nil where there is none
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

// ConfirmedAs returns a name of that which [Confirmed] returns, and of the columns that the mirror has: another Sync that
// changes something gives it another one, and a survey, which changes a table of answers, does not. It reads the catalogue alone:
// analysts can see how often a table was read.
func ConfirmedAs(ctx context.Context, mirror querier) (string, error) {
	var name string
	err := mirror.QueryRow(ctx, `SELECT pg_catalog.md5(pg_catalog.concat(pg_catalog.pg_relation_filenode(r.oid),
		(SELECT pg_catalog.string_agg(pg_catalog.concat(c.oid, ' ', a.attname), ',' ORDER BY c.oid, a.attnum)
		   FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		  WHERE c.relkind IN ('r', 'v') AND c.relpersistence <> 't'
		    AND c.relnamespace NOT IN (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname IN ('pg_catalog', 'information_schema'))
		    AND NOT pg_catalog.starts_with(coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), $2)
		    AND c.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = $1))))
		FROM (`+recorded+`) AS r (oid) WHERE r.oid IS NOT NULL`, ddl.Owner, ofAnswers).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return name, wrapConfirmed(err)
}

// recorded selects the table of what was confirmed, or NULL. On a mirror that an earlier version has made it is in the schema dp
// until the next Sync.
const recorded = "SELECT coalesce(pg_catalog.to_regclass('dpproxy.confirmed'), pg_catalog.to_regclass('dp.confirmed'))"

func wrapConfirmed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mirror: read what was confirmed: %w", err)
}

// confirmation is the JSON of dpproxy.confirmed, which only superusers read.
type confirmation struct {
	Database      string
	ServerVersion int
	Site          string           `json:",omitempty"` // [Plan.Site]
	Tables        []*catalog.Table // by name
	Types         []*catalog.Type  // by name
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// confirmed returns the recorded text, empty if there is none.
func confirmed(ctx context.Context, q querier) (text string, err error) {
	var table *string
	if err := q.QueryRow(ctx, "SELECT r.oid::pg_catalog.text FROM ("+recorded+") AS r (oid)").Scan(&table); err != nil || table == nil {
		return "", err
	}
	err = q.QueryRow(ctx, "SELECT definition FROM "+*table).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// confirm records the schema that Sync has read.
func confirm(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema, report func(string)) error {
	r := confirmation{Database: s.Database, ServerVersion: s.ServerVersion, Site: p.Site}
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
	if _, err := tx.Exec(ctx, "TRUNCATE dpproxy.confirmed"); err != nil { // which [ConfirmedAs] sees
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO dpproxy.confirmed VALUES ($1)", string(want)); err != nil {
		return err
	}
	report("confirm the schema of the real database")
	return nil
}
