package introspect_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// partitionedSchema is a partitioned table p with two levels and a default partition, a table c that refers to it, and q, whose
// partitions alone refer to others.
const partitionedSchema = `CREATE TABLE cust (id int PRIMARY KEY, region text);
CREATE TABLE p (id int, at date NOT NULL, cust_id int REFERENCES cust, note text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY RANGE (at);
CREATE TABLE p_2a PARTITION OF p_2 FOR VALUES FROM ('2024-02-01') TO ('2024-02-15');
CREATE TABLE p_rest PARTITION OF p DEFAULT;
CREATE TABLE c (pid int NOT NULL, at date NOT NULL, qty int, FOREIGN KEY (at, pid) REFERENCES p (at, id));
CREATE TABLE q (a int NOT NULL, b int NOT NULL, x int) PARTITION BY LIST (a);
CREATE TABLE q_1 PARTITION OF q FOR VALUES IN (1); CREATE TABLE q_2 PARTITION OF q FOR VALUES IN (2);
ALTER TABLE q_1 ADD CONSTRAINT one FOREIGN KEY (b) REFERENCES cust; ALTER TABLE q_2 ADD CONSTRAINT two FOREIGN KEY (b) REFERENCES cust;
ALTER TABLE q_1 ADD CONSTRAINT alone FOREIGN KEY (x) REFERENCES cust;
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE l (k text COLLATE loose PRIMARY KEY) PARTITION BY LIST (k); CREATE TABLE l_1 PARTITION OF l DEFAULT;
CREATE TABLE r (pid int, at date, FOREIGN KEY (pid, at) REFERENCES p_2a (id, at));`

// proofsOf writes the keys, the foreign keys that hold, and behind a tilde those that need not.
func proofsOf(t *catalog.Table) string {
	var list []string
	for _, k := range t.Keys {
		list = append(list, "("+strings.Join(k.Columns, " ")+")")
	}
	for i, f := range slices.Concat(t.Foreign, t.Loose) {
		loose := map[bool]string{true: "~"}[i >= len(t.Foreign)]
		list = append(list, fmt.Sprintf("%s%s→%s(%s)", loose, strings.Join(f.Columns, " "), f.References.Name, strings.Join(f.Target, " ")))
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// idle disables the triggers of a constraint on a relation.
func idle(constraint, relation string) string {
	return fmt.Sprintf(`UPDATE pg_trigger SET tgenabled = 'D' WHERE tgrelid = '%s'::regclass AND tgconstraint IN (
		WITH RECURSIVE k AS (SELECT oid FROM pg_constraint WHERE conname = '%s' UNION ALL
		SELECT c.oid FROM pg_constraint c JOIN k ON c.conparentid = k.oid) TABLE k)`, relation, constraint)
}

// invalid leaves an index unfinished.
func invalid(index string) string {
	return "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '" + index + "'::regclass"
}

// pending leaves a partition as DETACH ... CONCURRENTLY does that was interrupted.
func pending(partition string) string {
	return "UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = '" + partition + "'::regclass"
}

// partitionProofs are the keys and foreign keys of each table of partitionedSchema.
var partitionProofs = map[string]string{
	"l": "(k)", "p": "(id at); cust_id→cust(id)", "c": "at pid→p(at id)", "q": "b→cust(id); ~x→cust(id)",
	"r": "pid at→p(id at); pid at→p_2(id at); pid at→p_2a(id at)", "p_2a": "(id at); cust_id→cust(id)",
}

// other pairs tables with what they have in place of partitionProofs.
func other(more ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// partitioned are the tables of partitionProofs.
var partitioned = introspect.Relations{Names: []catalog.Name{name("p"), name("c"), name("q"), name("r"), name("p_2a"), name("l")}}

// A partitionChange is a change of one partition or its index.
type partitionChange struct {
	change string
	moved  string            // the tables whose fingerprint is another
	proofs map[string]string // of those that have others
}

var partitionChanges = []partitionChange{
	{"SELECT", "", nil},
	{"CREATE TABLE p_3 PARTITION OF p FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')", "p", nil},
	{"CREATE TABLE p_2b PARTITION OF p_2 FOR VALUES FROM ('2024-02-15') TO ('2024-03-01')", "p", nil},
	{"ALTER TABLE p DETACH PARTITION p_1", "p", nil},
	{"ALTER TABLE p DETACH PARTITION p_2", "p", other("r", "pid at→p_2(id at); pid at→p_2a(id at)")},
	{pending("p_1"), "p", nil},
	{pending("p_2"), "p", other("r", "pid at→p_2(id at); pid at→p_2a(id at)")},
	{invalid("p_1_pkey"), "p", other("p", "cust_id→cust(id)")},
	{invalid("p_2_pkey"), "p", other("p", "cust_id→cust(id)")},
	{invalid("p_2a_pkey"), "p p_2a", other("p", "cust_id→cust(id)", "p_2a", "cust_id→cust(id)")},
	{
		"CREATE UNIQUE INDEX whole ON p (cust_id, at)", "",
		other("p", "(cust_id at); (id at); cust_id→cust(id)", "p_2a", "(cust_id at); (id at); cust_id→cust(id)"),
	},
	{
		"CREATE UNIQUE INDEX part ON ONLY p (cust_id, at); CREATE UNIQUE INDEX own ON p_1 (cust_id, at); " +
			"ALTER INDEX part ATTACH PARTITION own", "", nil,
	},
	{
		idle("p_cust_id_fkey", "p_1"), "p", other("p", "(id at); ~cust_id→cust(id)", "p_2a", "(id at); ~cust_id→cust(id)"),
	},
	{
		idle("p_cust_id_fkey", "p"), "p p_2a", other("p", "(id at); ~cust_id→cust(id)", "p_2a", "(id at); ~cust_id→cust(id)"),
	},
	{idle("c_at_pid_fkey", "p_1"), "c", other("c", "~at pid→p(at id)")},
	{"ALTER TABLE q_2 DROP CONSTRAINT two", "q", other("q", "~b→cust(id); ~x→cust(id)")},
	{
		"ALTER TABLE q_2 DROP CONSTRAINT two; ALTER TABLE q_2 ADD CONSTRAINT two FOREIGN KEY (b) REFERENCES cust NOT VALID", "q",
		other("q", "~b→cust(id); ~x→cust(id)"),
	},
	{"ALTER TABLE q_2 ADD FOREIGN KEY (x) REFERENCES cust", "q", other("q", "b→cust(id); x→cust(id)")},
	{"CREATE TABLE q_3 PARTITION OF q FOR VALUES IN (3)", "q", other("q", "~b→cust(id); ~x→cust(id)")},
	{ // servers before 17.1 let equal texts be in two partitions
		`UPDATE pg_partitioned_table SET partcollation = (SELECT oid::text::oidvector FROM pg_collation WHERE collname = 'C')
		WHERE partrelid = 'l'::regclass`, "", other("l", ""),
	},
	{"UPDATE pg_class SET relam = 0 WHERE oid = 'p_1'::regclass", "p", nil}, // stored in another way
}

// firstVersions are those of Postgres that have what a change alters, where some that are served have not: only partitions, and no
// partitioned tables, have triggers of their foreign keys before 15, and the mark of a partition that is being detached is new in 14.
var firstVersions = map[string]int{pending("p_1"): 14, pending("p_2"): 14, idle("p_cust_id_fkey", "p"): 15}

// hold holds that the tables are as it says after the change, which the transaction has made.
func (c partitionChange) hold(t *testing.T, tx pgx.Tx, before *catalog.Schema) {
	t.Helper()
	after, err := introspect.Read(t.Context(), tx, partitioned)
	if err != nil {
		t.Fatalf("%s: %v", c.change, err)
	}
	was := map[uint32]string{}
	for _, table := range before.Tables {
		was[table.OID] = table.Fingerprint
	}
	now := narrowed(t, tx.Conn(), was)
	var moved []string
	for _, n := range slices.Sorted(maps.Keys(partitionProofs)) {
		want := partitionProofs[n]
		if o, ok := c.proofs[n]; ok {
			want = o
		}
		if got := proofsOf(after.Tables[name(n)]); got != want {
			t.Errorf("%s: %s has %s, want %s", c.change, n, got, want)
		}
		if oid := before.Tables[name(n)].OID; now[oid] != was[oid] {
			moved = append(moved, n)
		}
	}
	if got := strings.Join(moved, " "); got != c.moved {
		t.Errorf("%s: other fingerprints of %q, want %q", c.change, got, c.moved)
	}
}

// TestPartitions holds that keys and foreign keys of a partitioned table are those that hold on each of its partitions, and that a
// change of one of these changes the fingerprint.
func TestPartitions(t *testing.T) {
	conn := clinic(t, start(t))
	run(t, conn, partitionedSchema)
	for _, c := range partitionChanges {
		tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		before, err := introspect.Read(t.Context(), tx, partitioned)
		if err != nil {
			t.Fatal(err)
		}
		if since(t, conn, firstVersions[c.change], "RESET search_path; "+c.change) {
			c.hold(t, tx, before)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantStorage(t, conn)
}

// wantStorage holds that a partitioned table says how each partition is stored, and which children it has.
func wantStorage(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	run(t, conn, `CREATE FOREIGN DATA WRAPPER w; CREATE SERVER elsewhere FOREIGN DATA WRAPPER w;
		CREATE FOREIGN TABLE q_3 PARTITION OF q FOR VALUES IN (3) SERVER elsewhere`)
	s, err := read(t, conn, name("p"), name("q"))
	if err != nil {
		t.Fatal(err)
	}
	stored := func(part string, kind byte, method string) catalog.Storage {
		return catalog.Storage{Name: name(part), Kind: kind, Method: method}
	}
	for n, want := range map[string][]catalog.Storage{
		"p": {stored("p_1", 'r', "heap"), stored("p_2a", 'r', "heap"), stored("p_rest", 'r', "heap")},
		"q": {stored("q_1", 'r', "heap"), stored("q_2", 'r', "heap"), stored("q_3", 'f', "none")},
	} {
		if diff := cmp.Diff(want, s.Tables[name(n)].Stored); diff != "" {
			t.Errorf("%s is stored (-want +got):\n%s", n, diff)
		}
	}
	if !strings.HasPrefix(s.Engine.Version, "PostgreSQL ") || !slices.Equal(s.Engine.Extensions, []string{"plpgsql"}) {
		t.Errorf("the engine is %+v", s.Engine)
	}
	if diff := cmp.Diff([]catalog.Name{name("p_1"), name("p_2"), name("p_2a"), name("p_rest")}, s.Tables[name("p")].Children); diff != "" {
		t.Errorf("children:\n%s", diff)
	}
}
