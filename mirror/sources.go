package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// This file finds the relations of the real database that those of a plan are computed from. The rows of a public relation are
// copied to the mirror, so its sources must be public, too: a list of relations that may be there decides, not a list of
// others.

// A SourceError is a relation of the plan whose rows may be those of a relation that must not be on the mirror.
type SourceError struct {
	Table   catalog.Name
	Message string
}

// Error implements error.
func (f *SourceError) Error() string { return f.Message }

// Faults returns the relations of the plan that [Sync] refuses since their rows may be those of a relation that must not be on
// the mirror. It reads the catalogue behind conn; s is the schema that [Plan.Read] read there.
func Faults(ctx context.Context, conn *pgx.Conn, p Plan, s *catalog.Schema) (faults []*SourceError, err error) {
	err = pgx.BeginTxFunc(ctx, conn, introspect.Snapshot, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = ''"); err != nil {
			return err
		}
		faults, err = derived(ctx, tx, p, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: read what relations are computed from: %w", err)
	}
	return faults, nil
}

// derived finds the faults of the plan, one for each relation.
func derived(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema) ([]*SourceError, error) {
	local, err := oidsOf(ctx, tx, p.local())
	if err != nil {
		return nil, err
	}
	f := &faultFinder{tx: tx, names: maps.Clone(local)}
	public, barred, references := f.known(s, p.Public), f.known(s, p.barred()), f.known(s, referencesOf(p))
	people := slices.DeleteFunc(slices.Clone(barred), func(oid uint32) bool { return slices.Contains(references, oid) })
	within := slices.Collect(maps.Keys(local))
	const shared = "shares rows with %v, which is of the local model: take one of them out of the policy"
	for _, r := range []struct {
		of, in []uint32
		but    []uint32 // whose foreign keys are not followed; nil: none are
		format string
	}{
		{public, people, append([]uint32{}, references...), "public table %v references, inherits from or is a view over the protected %v"},
		{public, references, nil, "public table %v inherits from or is a view over the reference table %v"},
		{public, within, nil, "public table %v " + shared},
		{barred, within, nil, "protected table %v " + shared},
	} {
		if err := f.reached(ctx, r.of, r.in, r.but, r.format); err != nil {
			return nil, err
		}
	}
	if err := f.withheld(ctx, p, s, public); err != nil {
		return nil, err
	}
	return f.faults, f.unknown(ctx, public)
}

// oidsOf returns the relations of some names that there are.
func oidsOf(ctx context.Context, tx pgx.Tx, of []catalog.Name) (map[uint32]catalog.Name, error) {
	schemas, names := make([]string, len(of)), make([]string, len(of))
	for i, n := range of {
		schemas[i], names[i] = n.Schema, n.Name
	}
	rows, err := tx.Query(ctx, `SELECT c.oid, n.nspname, c.relname FROM unnest($1::text[], $2::text[]) AS want(s, t)
		JOIN pg_catalog.pg_namespace n ON n.nspname = s
		JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t`, schemas, names)
	if err != nil {
		return nil, err
	}
	found := map[uint32]catalog.Name{}
	var oid uint32
	var n catalog.Name
	_, err = pgx.ForEachRow(rows, []any{&oid, &n.Schema, &n.Name}, func() error {
		found[oid] = n
		return nil
	})
	return found, err
}

// A faultFinder collects the faults of one plan.
type faultFinder struct {
	tx     pgx.Tx
	names  map[uint32]catalog.Name
	faults []*SourceError
}

// known returns the OIDs of relations of the schema, and notes their names. One that is not as it was confirmed may have none.
func (f *faultFinder) known(s *catalog.Schema, names []catalog.Name) (oids []uint32) {
	for _, n := range names {
		if t := s.Tables[n]; t != nil && t.OID != 0 {
			f.names[t.OID] = n
			oids = append(oids, t.OID)
		}
	}
	return oids
}

// add notes a fault, unless one of the relation is known.
func (f *faultFinder) add(of catalog.Name, format string, args ...any) {
	if !slices.ContainsFunc(f.faults, func(known *SourceError) bool { return known.Table == of }) {
		f.faults = append(f.faults, &SourceError{of, fmt.Sprintf(format, append([]any{of}, args...)...)})
	}
}

// reached notes the relations that [reachSQL] finds a way from to another.
func (f *faultFinder) reached(ctx context.Context, from, to, but []uint32, format string) error {
	rows, err := f.tx.Query(ctx, reachSQL, from, to, but)
	if err != nil {
		return err
	}
	var start, end uint32
	_, err = pgx.ForEachRow(rows, []any{&start, &end}, func() error {
		f.add(f.names[start], format, f.names[end])
		return nil
	})
	return err
}

// unknown notes the public relations that are computed from something of which it is not known that it is public.
func (f *faultFinder) unknown(ctx context.Context, public []uint32) error {
	rows, err := f.tx.Query(ctx, sourcesSQL, public, readingFunctions)
	if err != nil {
		return err
	}
	var start uint32
	var what, name string
	_, err = pgx.ForEachRow(rows, []any{&start, &what, &name}, func() error {
		switch what {
		case "function":
			f.add(f.names[start], "public table %v calls the function %s, which may read any table: copy the rows into a table, "+
				"or write the view without it", name)
		case "child":
			f.add(f.names[start], "public table %v has inheritance children that are not public: %s; make it public too, "+
				"or end the inheritance", name)
		default:
			f.add(f.names[start], "public table %v is a view over %s, which is not public: true in the policy; "+
				"make that public too, or take the view out of the policy", name)
		}
		return nil
	})
	return err
}

// withheld notes the public relations that are computed from columns of others that the plan hides.
func (f *faultFinder) withheld(ctx context.Context, p Plan, s *catalog.Schema, public []uint32) error {
	var of []uint32
	var columns []string
	for _, n := range p.Public {
		for _, oid := range f.known(s, []catalog.Name{n}) {
			for _, c := range p.hidden(n) {
				of, columns = append(of, oid), append(columns, c)
			}
		}
	}
	if of == nil {
		return nil
	}
	rows, err := f.tx.Query(ctx, withheldSQL, public, of, columns)
	if err != nil {
		return err
	}
	var start, from uint32
	var column string
	_, err = pgx.ForEachRow(rows, []any{&start, &from, &column}, func() error {
		f.add(f.names[start], "public table %v is computed from column %q of %v, which the policy hides; "+
			"take it out of the policy, or show the column", column, f.names[from])
		return nil
	})
	return err
}

// withheldSQL lists (start, of, column) if the query of a relation of $1, or a function whose body Postgres has parsed and that such a
// query calls, names a column of $2 and $3, or the whole row of its table. No dependency names the columns of a whole row: the text of a
// query shows that there is one, and a function that reads the table counts as if it had one. All relations between are of $1 as well.
const withheldSQL = `
WITH RECURSIVE hidden(of, number, name) AS (
	SELECT a.attrelid, a.attnum, a.attname::pg_catalog.text
	FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.oid[]), pg_catalog.unnest($3::pg_catalog.text[])) AS h(of, name)
	JOIN pg_catalog.pg_attribute a ON a.attrelid = h.of AND a.attname = h.name
), source(start, class, oid, whole) AS (
	SELECT w.ev_class, 'pg_catalog.pg_rewrite'::pg_catalog.regclass::pg_catalog.oid, w.oid,
		pg_catalog.strpos(w.ev_action::pg_catalog.text, ':varattno 0 ') > 0
	FROM pg_catalog.pg_rewrite w WHERE w.ev_type = '1' AND w.ev_class = ANY ($1::pg_catalog.oid[])
	UNION
	SELECT s.start, d.refclassid, d.refobjid, true FROM source s JOIN pg_catalog.pg_depend d ON d.classid = s.class AND d.objid = s.oid
	WHERE d.refclassid <> 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid >= 16384)
SELECT DISTINCT s.start, h.of, h.name FROM source s JOIN pg_catalog.pg_depend d ON d.classid = s.class AND d.objid = s.oid
JOIN hidden h ON d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = h.of
	AND (d.refobjsubid = h.number OR d.refobjsubid = 0 AND s.whole)
ORDER BY 1, 2, 3`

// readingFunctions are the functions of Postgres itself that read relations, files, counts of rows or sizes by a text or an OID.
// Other functions of the languages internal and C read nothing.
const readingFunctions = `^((query|table|schema|database|cursor)_to_xml.*|ts_stat|ts_rewrite|currtid2|pg_read_.*|pg_ls_.*|pg_stat_file` +
	`|lo_.*|loread|pg_sequence_.*|pg_stat_get_.*|pg_.*_size)$`

// sourcesSQL lists (start, what, name) if a relation of $1 is computed from a relation that is not one of them, or calls a
// function that may read one. It follows children, the queries of views, and the functions, operators and types that a query
// depends on. A partition belongs to its table. No pg_depend names the catalogues of Postgres, so queries are searched for
// OIDs as well; relations of Postgres's own (OIDs below 16384) are not followed.
const sourcesSQL = `
WITH RECURSIVE query(of, text, rule) AS NOT MATERIALIZED (
	SELECT w.ev_class, w.ev_action::pg_catalog.text, w.oid FROM pg_catalog.pg_rewrite w WHERE w.ev_type = '1'
), source(start, class, oid, child) AS (
	SELECT o, 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, o, false FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
	UNION
	SELECT s.start, e.class, e.oid, e.child FROM source s CROSS JOIN LATERAL (
		SELECT s.class, h.inhrelid, true FROM pg_catalog.pg_inherits h
			WHERE s.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND h.inhparent = s.oid
		UNION ALL SELECT d.refclassid, d.refobjid, false FROM query q JOIN pg_catalog.pg_depend d
			ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = q.rule
			WHERE s.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND q.of = s.oid
		UNION ALL SELECT s.class, m[1]::pg_catalog.oid, false FROM query q, pg_catalog.regexp_matches(q.text, ':relid (\d+)', 'g') AS m
			WHERE s.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND q.of = s.oid
		UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, m[1]::pg_catalog.oid, false
			FROM query q, pg_catalog.regexp_matches(q.text, '(?:funcid|aggfnoid|winfnoid) (\d+)', 'g') AS m
			WHERE s.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND q.of = s.oid
		UNION ALL SELECT d.refclassid, d.refobjid, false FROM pg_catalog.pg_depend d
			WHERE s.class <> 'pg_catalog.pg_class'::pg_catalog.regclass AND d.classid = s.class AND d.objid = s.oid AND d.deptype = 'n'
	) AS e(class, oid, child) WHERE s.oid >= 16384)
SELECT s.start, CASE WHEN s.child AND c.relkind IN ('r', 'p', 'f') THEN 'child' ELSE 'relation' END, n.nspname || '.' || c.relname
FROM source s JOIN pg_catalog.pg_class c ON c.oid = s.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE s.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid <> ALL ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
	AND NOT (c.relispartition AND EXISTS (
		SELECT FROM pg_catalog.pg_partition_ancestors(c.oid) a WHERE a.relid::pg_catalog.oid = ANY ($1)))
UNION
SELECT s.start, 'function', s.oid::pg_catalog.regprocedure::pg_catalog.text
FROM source s JOIN pg_catalog.pg_proc f ON f.oid = s.oid JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE s.class = 'pg_catalog.pg_proc'::pg_catalog.regclass AND CASE
	WHEN l.lanname IN ('internal', 'c') THEN f.oid < 16384 AND f.proname ~ $2
	ELSE pg_catalog.to_jsonb(f) ->> 'prosqlbody' IS NULL AND f.oid >= 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.classid = s.class AND d.objid = s.oid AND d.deptype = 'e') END
ORDER BY 1, 2 DESC, 3`
