package introspect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpproxy/mirror/quote"
)

// FingerprintOf returns the query for (oid oid, digest text) of each of the OIDs
// that is a relation. The digest changes with the name, columns, types, enum
// labels, unique indexes (validity included), constraints and the triggers that enforce
// them, row security (also whether it applies to the reader), inheritance and
// partition links, policies and rules of the relation. Other indexes prove nothing: they
// come and go, and [Unchanged] asks for those that are relied on. Of the constraints that
// NOT NULL is from Postgres 18 on, it is the columns that count, and whether rows were checked.
//
// It reads the catalogue under the transaction's snapshot, but Postgres plans with
// the newest catalogue. So whoever relies on it first takes LOCK TABLE ... IN
// ACCESS SHARE MODE on the same relations in the same transaction (LOCK takes no
// snapshot), compares the OIDs too, and only then reads.
//
// The OIDs are written in: without a parameter, Postgres plans a prepared statement
// once and not at each use, and planning is the larger part of it.
func FingerprintOf(oids []uint32) string {
	list := make([]string, len(oids))
	for i, oid := range oids {
		list[i] = strconv.FormatUint(uint64(oid), 10)
	}
	return strings.ReplaceAll(fingerprintSQL, "$1", "'{"+strings.Join(list, ",")+"}'")
}

// Unchanged returns a query of one row for (0, text mark), which ends in an error of
// [NotUnchanged] unless each relation of the OIDs has the digest of [FingerprintOf]: statements
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
func Unchanged(digests map[uint32]string) string {
	oids := slices.Sorted(maps.Keys(digests))
	rows := make([]string, len(oids))
	for i, oid := range oids {
		rows[i] = "(" + strconv.FormatUint(uint64(oid), 10) + "::pg_catalog.oid, " + quote.Literal(digests[oid]) + ")"
	}
	return fmt.Sprintf(`
SELECT CASE WHEN seen.mark OPERATOR(pg_catalog.=) $1 THEN 0 ELSE CAST(CASE WHEN (
    SELECT pg_catalog.count(*)
      FROM (%s) AS have JOIN (VALUES %s) AS want(oid, digest) ON have.oid = want.oid AND have.digest = want.digest
  ) = %d THEN '0' ELSE 'changed' END AS pg_catalog.int4) END, seen.mark
FROM (SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.concat_ws(' ',
    pg_catalog.pg_current_snapshot(), pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), `+
		`pg_catalog.pg_backend_pid()) END OFFSET 0) AS seen(mark)`,
		FingerprintOf(oids), strings.Join(rows, ", "), len(oids))
}

// NotUnchanged is the SQLSTATE of the error in which [Unchanged] ends.
const NotUnchanged = "22P02"

// fingerprintSQL is the query of FingerprintOf with the OIDs as its parameter. It
// reads columns of the catalogue and deparses nothing, so that it is cheap enough
// to run before each protected read.
const fingerprintSQL = `
SELECT c.oid, pg_catalog.md5(pg_catalog.concat_ws('/',
  ROW(n.nspname, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity,
      pg_catalog.row_security_active(c.oid), c.relispartition)::text,
  (SELECT pg_catalog.string_agg(ROW(a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attcollation,
            a.attgenerated, ` + typeText + `)::text, ',' ORDER BY a.attnum)
     FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT pg_catalog.string_agg(ROW(i.indexrelid, i.indisunique, i.indisprimary, i.indimmediate, i.indisvalid,
            i.indisready, i.indnkeyatts, i.indkey, i.indclass, i.indcollation, i.indpred, i.indexprs)::text,
            ',' ORDER BY i.indexrelid)
     FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique),
  (SELECT pg_catalog.string_agg(ROW(k.oid, k.conname, k.contype, pg_catalog.to_jsonb(k) OPERATOR(pg_catalog.->>) 'conperiod', ` +
	`k.condeferrable, k.convalidated, k.conindid,
            k.confrelid, k.conkey, k.confkey, k.conbin)::text, ',' ORDER BY k.oid)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n'),
  (SELECT pg_catalog.string_agg(k.conkey::text, ',' ORDER BY k.conkey)
     FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated),
  (SELECT pg_catalog.string_agg(ROW(t.oid, t.tgconstraint, t.tgenabled)::text, ',' ORDER BY t.oid)
     FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgconstraint <> 0),
  (SELECT pg_catalog.string_agg(h.inhparent::text, ',' ORDER BY h.inhparent)
     FROM pg_catalog.pg_inherits h WHERE h.inhrelid = c.oid),
  'children', (SELECT pg_catalog.string_agg(h.inhrelid::text, ',' ORDER BY h.inhrelid)
     FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
  'policies', (SELECT pg_catalog.string_agg(ROW(p.polname, p.polcmd, p.polpermissive, p.polroles, p.polqual)::text, ',' ORDER BY p.oid)
     FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid),
  'rules', (SELECT pg_catalog.string_agg(ROW(r.rulename, r.ev_type, r.ev_enabled, r.is_instead, r.ev_qual, r.ev_action)::text, ` +
	`',' ORDER BY r.oid)
     FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid)
)) AS digest
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = ANY ($1::pg_catalog.oid[])`

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
