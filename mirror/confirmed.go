package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// A Confirmation is the record of the last [Sync]: a mirror is made for one policy, and bound to it.
type Confirmation struct {
	// Schema has the relations of the real database as they were, hidden columns and all: with these the administrator took the
	// policy to fit. Time zones, collations and rows are not recorded.
	Schema *catalog.Schema
	// Earlier says that an earlier version wrote the record, which did not note the policy.
	Earlier bool
	policy  string
	listed  bool
}

// IsOf reports whether the mirror was made for the policy that the plan is from, and for no other one.
func (c *Confirmation) IsOf(p Plan) bool { return c.policy == digest(p) }

// Outdated reports whether an earlier version wrote the record in another form or place than this version: [Raise] brings it there.
func (c *Confirmation) Outdated() bool { return c.Earlier || c.listed }

// Confirmed returns the record of the mirror, nil if there was no sync.
func Confirmed(ctx context.Context, mirror *pgx.Conn) (*Confirmation, error) {
	text, listed, err := confirmed(ctx, mirror)
	if err != nil || text == nil {
		return nil, wrapConfirmed(err) // nil where there is none
	}
	r, err := parseConfirmation(text)
	if err != nil {
		return nil, wrapConfirmed(err)
	}
	s := &catalog.Schema{
		ServerVersion: r.ServerVersion, Database: r.Database, Tables: r.tables(), Types: map[catalog.Name]*catalog.Type{},
	}
	for _, t := range r.Types {
		s.Types[t.Name] = t
	}
	if r.Local != nil {
		s.Local = map[catalog.Name]*catalog.Table{}
		for _, t := range r.Local {
			s.Local[t.Name] = t
		}
	}
	return &Confirmation{Schema: s, Earlier: r.Format < recordFormat, listed: listed, policy: r.Policy}, nil
}

// RecordedAs returns a name for the record alone. A Sync that changes the record, such as one for another policy, changes the
// name. While such a Sync is under way RecordedAs waits for its end.
func RecordedAs(ctx context.Context, mirror *pgx.Conn) (string, error) {
	results, err := mirror.PgConn().Exec(ctx, awaitRecord+"; SELECT "+recordName).ReadAll()
	if err != nil {
		return "", wrapConfirmed(err)
	}
	name := string(results[1].Rows[0][0])
	if name == "" {
		return "", wrapConfirmed(errors.New("there is no record: run dpproxy sync"))
	}
	return name, nil
}

// recordName is a name for the record. If a Sync of an earlier version has made the mirror since, it is another one: that one has written
// a table.
var recordName = "pg_catalog.concat_ws(' ', (" + confirmedRecords.where() + `),
	pg_catalog.pg_relation_filenode(pg_catalog.to_regclass('` + confirmedRecords.comment() + "')))"

// The record is changed under a lock that only superusers can take, and that is in the way of nothing else.
const (
	lockRecord  = "LOCK TABLE pg_catalog.pg_largeobject_metadata IN EXCLUSIVE MODE"
	awaitRecord = "LOCK TABLE pg_catalog.pg_largeobject_metadata IN ROW SHARE MODE"
)

// ConfirmedAs returns a name for the record, and for the columns and the public rows that the mirror has. A Sync that changes
// something changes the name; a survey, which changes a table of answers, does not. It reads the catalogue alone: analysts can
// see how often a table was read.
func ConfirmedAs(ctx context.Context, mirror querier) (string, error) {
	var name string
	err := mirror.QueryRow(ctx, `SELECT pg_catalog.md5(pg_catalog.concat(n.name, ' ', (`+copiedRecords.where()+`), ' ',
		(SELECT pg_catalog.string_agg(pg_catalog.concat(c.oid, ' ', a.attname), ',' ORDER BY c.oid, a.attnum)
		   FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		  WHERE c.relkind IN ('r', 'v') AND c.relpersistence <> 't'
		    AND c.relnamespace NOT IN (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname IN ('pg_catalog', 'information_schema'))
		    AND NOT pg_catalog.starts_with(coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), $2)
		    AND c.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = $1))))
		FROM (SELECT `+recordName+`) AS n (name) WHERE n.name <> ''`, ddl.Owner, ofAnswers).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return name, wrapConfirmed(err)
}

func wrapConfirmed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mirror: read what was confirmed: %w", err)
}

// recordFormat is the format of the record that this version writes. In the first one Tables was a list, so that a program that knows no
// other one refuses this one when it reads it.
const recordFormat = 2

// confirmation is the JSON of the record.
type confirmation struct {
	Format        int
	Database      string
	ServerVersion int
	Site          string                    `json:",omitempty"` // [Plan.Site]
	Policy        string                    // digest of the plan
	Tables        map[string]*catalog.Table // by name
	Types         []*catalog.Type           // by name
	Local         []*catalog.Table          // by name; nil in records of earlier versions
}

// parseConfirmation reads a record of this format, or of the one before.
func parseConfirmation(text []byte) (r confirmation, err error) {
	var raw struct {
		confirmation
		Tables json.RawMessage
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return r, err
	}
	r = raw.confirmation
	switch r.Format {
	case recordFormat:
		return r, json.Unmarshal(raw.Tables, &r.Tables)
	case 0:
		var list []*catalog.Table
		err := json.Unmarshal(raw.Tables, &list)
		r.Tables = map[string]*catalog.Table{}
		for _, t := range list {
			r.Tables[t.Name.String()] = t
		}
		return r, err
	}
	return r, fmt.Errorf("the mirror was made by a later dpproxy, whose record has the format %d: run that one", r.Format)
}

func (r confirmation) tables() map[catalog.Name]*catalog.Table {
	tables := map[catalog.Name]*catalog.Table{}
	for _, t := range r.Tables {
		tables[t.Name] = t
	}
	return tables
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// confirmed returns the recorded text, nil if there is none. Listed says that it is in a table of an earlier version.
func confirmed(ctx context.Context, q querier) (text []byte, listed bool, err error) {
	schema, err := confirmedRecords.former(ctx, q)
	switch {
	case err != nil:
		return nil, false, err
	case schema != "":
		text, err = confirmedRecords.readFormer(ctx, q, schema)
		return text, true, err
	}
	text, err = confirmedRecords.read(ctx, q)
	return text, false, err
}

// recordOf returns the record, an empty one if there is none.
func recordOf(ctx context.Context, q querier) (r confirmation, err error) {
	text, _, err := confirmed(ctx, q)
	if err != nil || text == nil {
		return r, err
	}
	return parseConfirmation(text)
}

// has reports whether the record has a relation, if it is one, as that of its name, or no OID to tell.
func (r confirmation) has(t *catalog.Table) bool {
	if t == nil {
		return true // the name of a type
	}
	was := r.Tables[t.Name.String()]
	return was == nil || was.OID == 0 || was.OID == t.OID
}

// local returns what the record has of a table of the local model, nil if it has none.
func (r confirmation) local(name string) *catalog.Table {
	i := slices.IndexFunc(r.Local, func(t *catalog.Table) bool { return t.Name.String() == name })
	if i < 0 {
		return nil
	}
	return r.Local[i]
}

// isOf reports whether a mirror of this record is one for the plan and of the same relations of the real database.
func (r confirmation) isOf(p Plan, s *catalog.Schema) bool {
	for _, t := range s.Tables {
		if !r.has(t) {
			return false
		}
	}
	for _, t := range s.Local {
		if was := r.local(t.Name.String()); was != nil && !sameColumns(was, t) {
			return false
		}
	}
	return r.Policy == digest(p)
}

// confirm records the schema that Sync has read, and the policy that the mirror was made for.
func confirm(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema, report func(string)) error {
	r := confirmation{
		Format: recordFormat, Database: s.Database, ServerVersion: s.ServerVersion, Site: p.Site, Policy: digest(p),
		Tables: map[string]*catalog.Table{},
	}
	for _, n := range p.names() {
		r.Tables[n.String()] = s.Tables[n]
	}
	for _, t := range s.Types {
		r.Types = append(r.Types, t)
	}
	slices.SortFunc(r.Types, func(x, y *catalog.Type) int { return x.Name.Compare(y.Name) })
	r.Local = slices.SortedFunc(maps.Values(s.Local), func(x, y *catalog.Table) int { return x.Name.Compare(y.Name) })
	if r.Local == nil {
		r.Local = []*catalog.Table{} // it was noted that there are none
	}
	written, err := r.write(ctx, tx)
	if err == nil && written {
		report("confirm the schema of the real database, and the policy")
	}
	return err
}

// write replaces the record, if it is another one.
func (r confirmation) write(ctx context.Context, tx pgx.Tx) (written bool, err error) {
	want, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	have, err := confirmedRecords.read(ctx, tx)
	if err != nil || bytes.Equal(have, want) {
		return false, err
	}
	if _, err := tx.Exec(ctx, lockRecord); err != nil {
		return false, err
	}
	return true, confirmedRecords.write(ctx, tx, want)
}

// Raise brings the record of a mirror that an earlier version has made to the present place and format, with the policy of the plan. The
// caller has proved that the mirror is as the plan wants it. Programs of that version refuse the mirror from then on.
func Raise(ctx context.Context, mirror *pgx.Conn, p Plan) error {
	err := pgx.BeginFunc(ctx, mirror, func(tx pgx.Tx) error {
		if _, err := prepare(ctx, tx, func(string) {}); err != nil {
			return err
		}
		r, err := recordOf(ctx, tx)
		if err != nil || r.Format == recordFormat {
			return err
		}
		r.Format, r.Policy = recordFormat, digest(p)
		_, err = r.write(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("mirror: bring its record to the present format: %w", err)
	}
	return nil
}
