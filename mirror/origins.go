package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
)

// This file looks up the relations, columns and types that the mirror was made from. The policy does not speak of one that has another
// name by now, or whose name another has: it speaks of the other one.

// Origins are the relations, columns and types of a record as the real database has them by now. The zero value knows nothing of
// them, as where that database is away: names decide alone then.
type Origins struct {
	relations, types map[uint32]origin // by the OID of the record, where that has one
	columns          map[attribute]string
	queries          map[uint32]string // of views
}

// An origin is the thing that an OID of a record stands for by now.
type origin struct {
	now   catalog.Name // zero: there is no such thing any more
	taken bool         // something else has the name that it had
}

// An attribute is a column of a relation by its number (pg_attribute.attnum).
type attribute struct {
	of     uint32
	number int16
}

// became says how a thing is called by now that had a name; empty if the name still stands for it.
func (o origin) became(was catalog.Name) string {
	switch {
	case o.now != catalog.Name{} && o.now != was:
		return fmt.Sprintf("which is %v in the real database by now", o.now)
	case o.now == catalog.Name{} && o.taken:
		return "which is another one of that name in the real database by now"
	}
	return ""
}

// relation says so of a relation of the record. A view whose definition the mirror has is another one with another query.
func (o Origins) relation(t *catalog.Table, defined bool) string {
	if text := o.relations[t.OID].became(t.Name); text != "" {
		return text
	}
	if query, there := o.queries[t.OID]; defined && there && t.View != "" && query != t.View {
		return "whose query is another one in the real database by now"
	}
	return ""
}

// renamed reports whether a relation of the record has another name by now.
func (o Origins) renamed(t *catalog.Table) bool {
	now := o.relations[t.OID].now
	return now != catalog.Name{} && now != t.Name
}

// child returns the name that a child of a relation of the record has by now; the recorded one if that is not known, or if it is gone.
func (o Origins) child(t *catalog.Table, i int) catalog.Name {
	if i < len(t.ChildOIDs) {
		if now := o.relations[t.ChildOIDs[i]].now; now != (catalog.Name{}) {
			return now
		}
	}
	return t.Children[i]
}

// renamedColumn reports whether a column of a relation of the record has another name by now.
func (o Origins) renamedColumn(t *catalog.Table, c catalog.Column) bool {
	now, there := o.columns[attribute{t.OID, int16(c.Number)}]
	return there && now != c.Name
}

// sameType reports whether the type below all domains of a column is the one of that name.
func (o Origins) sameType(t catalog.TypeRef) bool { return o.types[t.BaseOID].became(t.Base) == "" }

// ReadOrigins looks the relations, columns and types of a record up in the catalogue of the real database as it is.
func ReadOrigins(ctx context.Context, upstream *pgx.Conn, was *catalog.Schema) (o Origins, err error) {
	err = pgx.BeginTxFunc(ctx, upstream, introspect.Snapshot, func(tx pgx.Tx) (err error) {
		settings := introspect.PlainText + "; SET LOCAL lock_timeout = '" + steady.Patience + "'" // pg_get_viewdef locks
		if _, err = tx.Conn().PgConn().Exec(ctx, settings).ReadAll(); err != nil {
			return err
		}
		if err = o.readRelations(ctx, tx, was); err != nil {
			return err
		}
		if o.types, err = readOrigins(ctx, tx, "pg_type", "typ", typesOf(was)); err != nil {
			return err
		}
		if err = o.readColumns(ctx, tx, relationsOf(was)); err != nil {
			return err
		}
		return o.readQueries(ctx, tx, was)
	})
	if err != nil {
		return Origins{}, fmt.Errorf("mirror: read what became of the relations that it was made from: %w", err)
	}
	return o, nil
}

// readRelations looks up relations alone.
func (o *Origins) readRelations(ctx context.Context, tx pgx.Tx, was *catalog.Schema) (err error) {
	o.relations, err = readOrigins(ctx, tx, "pg_class", "rel", relationsOf(was))
	return err
}

// relationsOf returns the names of the relations of a record and of their partitions, by OID.
func relationsOf(was *catalog.Schema) map[uint32]catalog.Name {
	all := map[uint32]catalog.Name{}
	for _, tables := range []map[catalog.Name]*catalog.Table{was.Tables, was.Local} {
		for n, t := range tables {
			if t.OID != 0 {
				all[t.OID] = n
			}
			for i, oid := range t.ChildOIDs {
				all[oid] = t.Children[i]
			}
		}
	}
	return all
}

// typesOf returns the names of the types of a record that users made, by OID.
func typesOf(was *catalog.Schema) map[uint32]catalog.Name {
	all := map[uint32]catalog.Name{}
	add := func(t catalog.TypeRef) {
		if t.BaseOID >= introspect.FirstUserOID {
			all[t.BaseOID] = t.Base
		}
	}
	for _, t := range was.Tables {
		for _, c := range t.Columns {
			add(c.Type)
		}
	}
	for _, t := range was.Types {
		add(t.Base)
		for _, c := range t.Attributes {
			add(c.Type)
		}
	}
	return all
}

// readOrigins looks things up in a catalogue, whose columns have a prefix.
func readOrigins(ctx context.Context, tx pgx.Tx, in, prefix string, was map[uint32]catalog.Name) (map[uint32]origin, error) {
	var oids []uint32
	var schemas, names []string
	for oid, n := range was {
		oids, schemas, names = append(oids, oid), append(schemas, n.Schema), append(names, n.Name)
	}
	const sql = `SELECT w.oid, coalesce(n.nspname, ''), coalesce(c.@name, ''), EXISTS (
			SELECT FROM pg_catalog.@in d JOIN pg_catalog.pg_namespace m ON m.oid = d.@namespace
			WHERE m.nspname = w.schema AND d.@name = w.name AND d.oid <> w.oid)
		FROM unnest($1::pg_catalog.oid[], $2::pg_catalog.text[], $3::pg_catalog.text[]) AS w (oid, schema, name)
		LEFT JOIN pg_catalog.@in c ON c.oid = w.oid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.@namespace`
	text := strings.NewReplacer("@in", in, "@namespace", prefix+"namespace", "@name", prefix+"name").Replace(sql)
	rows, err := tx.Query(ctx, text, oids, schemas, names)
	if err != nil {
		return nil, err
	}
	all := map[uint32]origin{}
	var oid uint32
	var o origin
	_, err = pgx.ForEachRow(rows, []any{&oid, &o.now.Schema, &o.now.Name, &o.taken}, func() error {
		all[oid] = o
		return nil
	})
	return all, err
}

// readColumns reads the names of the columns of relations.
func (o *Origins) readColumns(ctx context.Context, tx pgx.Tx, of map[uint32]catalog.Name) error {
	var oids []uint32
	for oid := range of {
		oids = append(oids, oid)
	}
	rows, err := tx.Query(ctx, `SELECT a.attrelid, a.attnum, a.attname FROM pg_catalog.pg_attribute a
		WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped`, oids)
	if err != nil {
		return err
	}
	o.columns = map[attribute]string{}
	var a attribute
	var name string
	_, err = pgx.ForEachRow(rows, []any{&a.of, &a.number, &name}, func() error {
		o.columns[a] = name
		return nil
	})
	return err
}

// readQueries reads the queries of the views whose definition analysts may have seen.
func (o *Origins) readQueries(ctx context.Context, tx pgx.Tx, was *catalog.Schema) error {
	var views []uint32
	for _, t := range was.Tables {
		if t.ViewShown && t.OID != 0 {
			views = append(views, t.OID)
		}
	}
	slices.Sort(views)
	rows, err := tx.Query(ctx, `SELECT c.oid, pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c
		WHERE c.oid = ANY ($1) AND c.relkind = 'v'`, views)
	if err != nil {
		return err
	}
	o.queries = map[uint32]string{}
	var oid uint32
	var query string
	_, err = pgx.ForEachRow(rows, []any{&oid, &query}, func() error {
		o.queries[oid] = introspect.Query(query)
		return nil
	})
	return err
}
