package introspect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpproxy/mirror/quote"
)

// FingerprintOf returns the query for (oid oid, fingerprint text) of those of the relations that there are,
// each as far as its fingerprint of before tells, or whole where that is empty: a relation is as it was for all
// that a proof uses if the text is equal.
//
// A fingerprint is of the form "columns keys checks edition.kind.digest.digest". The first three are its extent: the number of the last
// column, the keys, each by the columns that it is an index of, and the CHECK constraints that rows fulfil, those of the columns' domains
// among them, each by its meaning: the third is shorter where one is gone. The digests, of which [Links] is the second, change with the
// name, these columns with their types, enum labels and expressions, these keys (as long as one valid index proves a key it is there), the
// foreign keys and whether the triggers that enforce them fire, its partitions or children with their foreign keys and how they are
// stored, row security (also whether it applies to the reader), inheritance and partition links, policies and rules of the relation, and
// with all that the query of a view needs (form.go).
// Plans name no column that came later, and a key or a CHECK more says nothing against another. Exclusion constraints prove
// nothing, nor do other indexes, and the foreign keys of other tables to this one are facts about those. Of the
// constraints that NOT NULL is from Postgres 18 on, it is the columns that count, and whether rows were checked.
//
// Earlier versions took no CHECK constraints down: their fingerprints have no such part, and tell of none.
//
// It reads the catalogue under the transaction's snapshot, but Postgres plans with
// the newest catalogue. So whoever relies on it first takes LOCK TABLE ... IN
// ACCESS SHARE MODE on the same relations in the same transaction (LOCK takes no
// snapshot), compares the OIDs too, and only then reads.
//
// The relations are written in: without a parameter, Postgres plans a prepared statement
// once and not at each use, and planning is the larger part of it.
func FingerprintOf(before map[uint32]string) string {
	rows := make([]string, 0, len(before))
	for _, oid := range slices.Sorted(maps.Keys(before)) {
		columns, keys, checks := "NULL", "NULL", "NULL"
		if p, ok := extentOf(before[oid]); ok {
			columns, keys, checks = strconv.Itoa(p.columns), quote.Literal(p.keys), quote.Literal(p.checks)
		}
		rows = append(rows, fmt.Sprintf("(%d::pg_catalog.oid, %s::pg_catalog.int4, %s::pg_catalog.text, %s::pg_catalog.text)",
			oid, columns, keys, checks))
	}
	if len(rows) == 0 {
		rows = []string{"(0::pg_catalog.oid, NULL::pg_catalog.int4, NULL::pg_catalog.text, NULL::pg_catalog.text)"}
	}
	sql := fingerprintSQL
	if !slices.ContainsFunc(slices.Collect(maps.Values(before)), mayBeView) {
		sql = tablesSQL
	}
	return strings.ReplaceAll(sql, "$1", strings.Join(rows, ", "))
}

// mayBeView reports whether a fingerprint is not that of a table.
func mayBeView(fingerprint string) bool {
	p, known := extentOf(fingerprint)
	return !known || p.kind != 'r' && p.kind != 'p'
}

// edition begins the digests of what this version compares. One of another edition says nothing of a change.
const edition = "2."

// An extent is the part of a fingerprint that says how much was there.
type extent struct {
	columns int
	keys    string
	checks  string // "" in fingerprints of earlier versions
	kind    byte   // pg_class.relkind
}

// extentOf reads that of a fingerprint; there is none if it is of another form.
func extentOf(fingerprint string) (extent, bool) {
	parts := strings.Split(fingerprint, " ")
	checks := ""
	switch len(parts) {
	case 3: //nolint:mnd // columns, keys and the rest
	case 4: //nolint:mnd // checks as well
		checks = parts[2]
	default:
		return extent{}, false
	}
	kind, ok := strings.CutPrefix(parts[len(parts)-1], edition)
	n, err := strconv.Atoi(parts[0])
	if !ok || err != nil || len(kind) < 2 || kind[1] != '.' {
		return extent{}, false
	}
	return extent{n, parts[1], checks, kind[0]}, true
}

// Links is the part of a fingerprint that changes with the name and kind of a relation, its row security, parents, policies and
// rules.
func Links(fingerprint string) string {
	return fingerprint[strings.LastIndexByte(fingerprint, '.')+1:]
}

// Unchecked is a fingerprint without the CHECK constraints, which decide no answer.
func Unchecked(fingerprint string) string {
	p, told := extentOf(fingerprint)
	if !told || p.checks == "" {
		return fingerprint
	}
	return strings.Replace(fingerprint, " "+p.checks+" ", " ", 1)
}

// Told reports whether a fingerprint is of the form that this version compares.
func Told(fingerprint string) bool {
	_, ok := extentOf(fingerprint)
	return ok
}

// Unchanged returns a query of one row for (0, text mark), which ends in an error of
// [NotUnchanged] unless each relation of the OIDs has the fingerprint, by [FingerprintOf]: statements
// behind it in a pipeline do not run then.
//
// The mark names the snapshot of the transaction, and is NULL where that has no
// name. A query with the mark of an earlier one, of the same text and on the same session,
// as its parameter $1 looks at nothing else if its mark is the same. NULL always looks.
// The transaction must have changed nothing itself.
//
// Transactions of one server with equal snapshots see the same rows of the catalogue: a
// transaction's outcome is visible if it is before the snapshot's end and not among those
// that were in progress (Postgres, "pg_snapshot Components"). A standby lists none of
// these, so its snapshots are no marks. The start of the server and the process of the
// session tell servers apart, and a server from itself before a crash, which forgets
// transactions that nobody had to be told of.
func Unchanged(fingerprints map[uint32]string) string {
	oids := slices.Sorted(maps.Keys(fingerprints))
	rows := make([]string, len(oids))
	for i, oid := range oids {
		rows[i] = "(" + strconv.FormatUint(uint64(oid), 10) + "::pg_catalog.oid, " + quote.Literal(fingerprints[oid]) + ")"
	}
	return fmt.Sprintf(`
SELECT CASE WHEN seen.mark OPERATOR(pg_catalog.=) $1 THEN 0 ELSE CAST(CASE WHEN (
    SELECT pg_catalog.count(*)
      FROM (%s) AS have JOIN (VALUES %s) AS want(oid, fingerprint) ON have.oid = want.oid AND have.fingerprint = want.fingerprint
  ) = %d THEN '0' ELSE 'changed' END AS pg_catalog.int4) END, seen.mark
FROM (SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.concat_ws(' ',
    pg_catalog.pg_current_snapshot(), pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), `+
		`pg_catalog.pg_backend_pid()) END OFFSET 0) AS seen(mark)`,
		FingerprintOf(fingerprints), strings.Join(rows, ", "), len(oids))
}

// NotUnchanged is the SQLSTATE of the error in which [Unchanged] ends.
const NotUnchanged = "22P02"

// fingerprintSQL is the query of FingerprintOf with the relations, as rows, in the place of $1. It
// reads columns of the catalogue and deparses nothing, so that it is cheap enough
// to run before each protected read.
var fingerprintSQL = `
SELECT c.oid, pg_catalog.concat_ws(' ', was.columns, was.keys, checked.of,
  pg_catalog.concat('` + edition + `', c.relkind, '.',
  pg_catalog.md5(pg_catalog.concat_ws('/',
  (SELECT pg_catalog.string_agg(ROW(a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attcollation,
            a.attgenerated, ` + generatedText + `, ` + typeText + `)::text, ',' ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attnum <= was.columns AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(DISTINCT ` + keyText + `, ',')
     FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND ` + provingIndex + `
      AND ` + keyText + ` = ANY (pg_catalog.string_to_array(was.keys, ','))),
  'foreign', ` + foreignText("c.oid", ofItself) + `,
  'unchecked', (SELECT pg_catalog.string_agg(k.conkey::text, ',' ORDER BY k.conkey)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated),
  ` + idleText + `,
  'children', ` + childrenText + `,
  CASE WHEN c.relam NOT IN (0, 2) THEN pg_catalog.concat('method', c.relam) END)), '.', pg_catalog.md5(pg_catalog.concat_ws('/',
  ROW(n.nspname, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity,
      pg_catalog.row_security_active(c.oid), c.relispartition)::text,
  'parents', (SELECT pg_catalog.string_agg(h.inhparent::text, ',' ORDER BY h.inhparent)
     FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid),
  'policies', (SELECT pg_catalog.string_agg(ROW(p.polname, p.polcmd, p.polpermissive, p.polroles,
       ` + asMeant("p.polqual") + `)::text, ',' ORDER BY p.polname)
     FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid),
  'rules', ` + rulesText("c.oid") + `,
  ` + computedText + `
)))) AS fingerprint
FROM (VALUES $1) AS given(oid, columns, keys, checks)
JOIN pg_catalog.pg_class c ON c.oid = given.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT coalesce(given.columns, c.relnatts) AS columns, coalesce(given.keys,
  (SELECT pg_catalog.string_agg(DISTINCT ` + keyText + `, ',')
     FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND ` + provingIndex + `), '-') AS keys OFFSET 0) AS was
CROSS JOIN LATERAL (SELECT CASE WHEN given.checks IS DISTINCT FROM '' THEN coalesce(` + checksText + `, '-') END OFFSET 0) AS checked (of)`

// provingIndex holds for an index i that proves a key of its table, but for its operator classes and collations, and for its
// partitions.
const provingIndex = `i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
      AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL`

// foreignText writes the foreign keys k of a relation that meet a condition, each with the states of the triggers that enforce it.
func foreignText(relation, which string) string {
	return `(SELECT pg_catalog.string_agg(ROW(k.conname, pg_catalog.to_jsonb(k) OPERATOR(pg_catalog.->>) 'conperiod',
            k.convalidated, k.confrelid, k.conkey, k.confkey, k.confdeltype, k.confupdtype,
            (SELECT pg_catalog.string_agg(DISTINCT t.tgenabled::text, ',') FROM pg_catalog.pg_trigger t WHERE t.tgconstraint = k.oid)
            )::text, ',' ORDER BY k.conname, k.confrelid)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = ` + relation + ` AND k.contype = 'f' AND ` + which + `)`
}

// idleText writes the foreign keys of a relation c, or of a table that it is a partition of, some of whose triggers do not fire:
// a key to a partitioned table has triggers on each partition of that.
const idleText = `(SELECT 'idle ' || pg_catalog.string_agg(DISTINCT k.oid::text, ',' ORDER BY k.oid::text)
     FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_trigger t ON t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A')
    WHERE k.contype = 'f' AND k.conrelid = ANY (c.oid || CASE WHEN c.relispartition
      THEN ARRAY(SELECT up.relid::pg_catalog.oid FROM pg_catalog.pg_partition_ancestors(c.oid) AS up) END))`

// childrenText writes the partitions of a relation c, or the tables that inherit from it, at any depth: how each is stored, its
// foreign keys, and its parts of unique indexes of c that are not valid.
var childrenText = `CASE WHEN c.relhassubclass THEN (
  WITH RECURSIVE below(oid, parent) AS (
    SELECT h.inhrelid, h.inhparent FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid AND ` + attached + `
    UNION
    SELECT h.inhrelid, h.inhparent FROM below JOIN pg_catalog.pg_inherits h ON h.inhparent = below.oid AND ` + attached + `)
  SELECT pg_catalog.string_agg(ROW(below.oid, below.parent, d.relkind, d.relam, ` + foreignText("below.oid", "true") + `,
           (SELECT pg_catalog.string_agg(i.indexrelid::text, ',' ORDER BY i.indexrelid) FROM pg_catalog.pg_index i
             WHERE i.indrelid = below.oid AND i.indisunique AND NOT (i.indisvalid AND i.indisready AND i.indislive)
               AND EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = i.indexrelid)))::text,
         ',' ORDER BY below.oid, below.parent)
    FROM below JOIN pg_catalog.pg_class d ON d.oid = below.oid) END`

// tablesSQL is fingerprintSQL for tables, without the part about views, which is NULL for them. Postgres prepares every part of a
// query for execution each time.
var tablesSQL = strings.Replace(fingerprintSQL, computedText, "NULL", 1)

// keyText writes the columns, operator classes and collations of an index i in digits.
const keyText = `pg_catalog.translate(pg_catalog.concat_ws('.', i.indnkeyatts, i.indkey, i.indclass, i.indcollation), ' ', '-')`

// typeText describes the type of column a where it is not built in, with the enum
// labels, and the type directly under a domain or array. The type below a domain
// cannot change.
const typeText = `
  CASE WHEN a.atttypid >= 16384 THEN (
    SELECT ROW(t.typname, t.typtype, t.typbasetype, t.typtypmod, t.typnotnull, t.typelem, u.typname, u.typnotnull,
      (SELECT pg_catalog.string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)
         FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),
      (SELECT pg_catalog.string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)
         FROM pg_catalog.pg_enum e WHERE e.enumtypid = u.oid))::text
    FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type u
      ON u.oid = CASE t.typbasetype WHEN 0 THEN t.typelem ELSE t.typbasetype END
    WHERE t.oid = a.atttypid) END`
