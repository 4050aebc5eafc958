package steady

import (
	"fmt"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// Begin begins a transaction for rows. It takes no snapshot.
const Begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// Lock returns the statement that excludes changes of the schema of relations, but for those that LOCK cannot name; it is empty if
// there are no others. It takes no snapshot, and names a table alone, a partitioned one with its partitions, and a view with all
// that it reads.
func Lock(of []*catalog.Table) string {
	var names []string
	for _, t := range of {
		if strings.IndexByte(lockable, t.Kind) >= 0 {
			names = append(names, t.Only()+quote.Name(t.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "LOCK TABLE " + strings.Join(names, ", ") + " IN ACCESS SHARE MODE"
}

// lockable are the kinds (pg_class.relkind) that LOCK names.
const lockable = "rpv"

// Settled returns a query of one row, which ends in an error of [dpproxy/mirror/introspect.NotUnchanged] unless each name means the
// relation that it meant in the snapshot, and each partitioned table has no partition more. It asks functions that look at the
// newest catalogue. The transaction holds the locks of the statements that it has planned, so that a
// partition cannot be detached again meanwhile.
func Settled(of []*catalog.Table) string {
	tests := []string{"true"}
	for _, t := range of {
		tests = append(tests, fmt.Sprintf("CAST(pg_catalog.to_regclass(%s) AS pg_catalog.oid) OPERATOR(pg_catalog.=) %d",
			quote.Literal(quote.Name(t.Name)), t.OID))
		if t.Kind == 'p' {
			tests = append(tests, fmt.Sprintf(knownPartitions, t.OID))
		}
	}
	return "SELECT CAST(CASE WHEN " + strings.Join(tests, " AND ") + " THEN '0' ELSE 'changed' END AS pg_catalog.int4)"
}

// knownPartitions holds if the snapshot has every partition of a table that there is.
const knownPartitions = `NOT EXISTS (SELECT FROM pg_catalog.pg_partition_tree(%[1]d::pg_catalog.oid) AS live
	WHERE live.relid::pg_catalog.oid NOT IN (WITH RECURSIVE known(oid) AS (SELECT %[1]d::pg_catalog.oid
		UNION SELECT h.inhrelid FROM pg_catalog.pg_inherits h JOIN known k ON h.inhparent = k.oid) SELECT known.oid FROM known))`
