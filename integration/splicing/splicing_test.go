package splicing_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpproxy/internal/sqlgen"
	"dpproxy/pgerr"
)

// A way is how a client sends a query.
type way struct {
	name string
	send func(ctx context.Context, p *peer, q sqlgen.Query) error
}

// free are ways that charge nothing.
var free = []string{"EXPLAIN", "EXPLAIN of others", "EXPLAIN, prepared"}

// ways leave the session as it was.
var ways = []way{
	{"simple", func(ctx context.Context, p *peer, q sqlgen.Query) error { return p.simple(ctx, q.Literal(), q.Ordered) }},
	{"prepared", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.prepared(ctx, q.SQL(), q.Params, q.Ordered)
	}},
	{"portal", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		if !q.Ordered {
			return p.prepared(ctx, q.SQL(), q.Params, q.Ordered)
		}
		return p.portal(ctx, q.SQL(), q.Params)
	}},
	{"several", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.simple(ctx, "SELECT 1 AS one; "+q.Literal()+"\n; SELECT count(*) FROM people; "+q.Literal(), q.Ordered)
	}},
	{"COPY", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.copied(ctx, "COPY ("+q.Literal()+"\n) TO STDOUT", q.Ordered)
	}},
	{"COPY CSV", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.copied(ctx, "copy("+q.Literal()+"\n)to stdout (FORMAT csv, HEADER, FORCE_QUOTE *)", q.Ordered)
	}},
	{"COPY BINARY", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.copiedBinary(ctx, q.Literal(), q.Ordered)
	}},
	{"EXPLAIN", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.explained(ctx, "EXPLAIN "+option(q)+q.Literal())
	}},
	{"EXPLAIN of others", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		var err error
		for _, sql := range []string{
			"PREPARE e AS " + q.SQL(), "EXPLAIN " + option(q) + execution(q),
			"EXPLAIN " + option(q) + "CREATE TABLE never AS " + q.Literal(),
			"EXPLAIN " + option(q) + "DECLARE c CURSOR FOR " + q.Literal(),
		} {
			if err == nil && p.failed == nil {
				err = p.explained(ctx, sql)
			}
		}
		return errors.Join(err, p.simple(ctx, "DEALLOCATE ALL", true))
	}},
	{"EXPLAIN, prepared", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.explainedPrepared(ctx, "EXPLAIN "+option(q)+q.SQL(), q.Params)
	}},
	{"CREATE TABLE AS", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "BEGIN", "CREATE TEMP TABLE made AS "+q.Literal(), "SELECT * FROM made",
			"SELECT attname, format_type(atttypid, atttypmod), attcollation FROM pg_attribute WHERE attrelid = 'made'::regclass "+
				"AND attnum > 0 ORDER BY attnum", "ROLLBACK")
	}},
	{"INSERT", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "BEGIN", "CREATE TEMP TABLE made (x text)",
			"INSERT INTO made SELECT q::text FROM ("+q.Literal()+"\n) q RETURNING x || '!' AS said", "ROLLBACK")
	}},
	{"cursor", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		if !q.Ordered {
			return p.simple(ctx, q.Literal(), false)
		}
		return p.steps(ctx, true, "BEGIN", "DECLARE c SCROLL CURSOR FOR "+q.Literal(), "FETCH 2 FROM c", "MOVE FORWARD 1 IN c",
			"FETCH LAST FROM c", "FETCH BACKWARD 2 FROM c", "FETCH ABSOLUTE 1 FROM c", "CLOSE c", "COMMIT")
	}},
	{"cursor WITH HOLD", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "DECLARE c NO SCROLL CURSOR WITH HOLD FOR "+q.Literal(), "FETCH ALL FROM c", "CLOSE c")
	}},
	{"EXECUTE", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "PREPARE e AS "+q.SQL(), execution(q), "DEALLOCATE e")
	}},
	// Of EXECUTE WITH NO DATA, Postgres takes a column's collation and its type's modifier from the plan, where an expression
	// can have become a constant without one, and a UNION can have lost a branch; dpproxy takes them from the query.
	{"CREATE TABLE AS EXECUTE", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "PREPARE e AS "+q.SQL(), "BEGIN", "CREATE TEMP TABLE made AS "+execution(q),
			"SELECT * FROM made", "CREATE TEMP TABLE bare AS "+execution(q)+" WITH NO DATA",
			"SELECT attname, format_type(atttypid, CASE attrelid WHEN 'made'::regclass THEN atttypmod END), "+
				"CASE attrelid WHEN 'made'::regclass THEN attcollation END "+
				"FROM pg_attribute WHERE attrelid IN ('made'::regclass, 'bare'::regclass) AND attnum > 0 "+
				"ORDER BY attrelid, attnum", "ROLLBACK", "DEALLOCATE e")
	}},
	{"SELECT INTO", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, q.Ordered, "BEGIN", "SELECT * INTO TEMP made FROM ("+q.Literal()+"\n) q", "TABLE made", "ROLLBACK")
	}},
	{"UPDATE", func(ctx context.Context, p *peer, q sqlgen.Query) error {
		return p.steps(ctx, true, "BEGIN", "CREATE TEMP TABLE made AS SELECT 1 AS i, 'a'::text AS x",
			"UPDATE made SET x = (SELECT max(q::text) FROM ("+q.Literal()+"\n) q) WHERE i = 1 RETURNING *",
			"MERGE INTO made USING (SELECT DISTINCT q::text AS t FROM ("+q.Literal()+
				"\n) q) s ON made.x = s.t WHEN MATCHED THEN UPDATE SET i = 2 WHEN NOT MATCHED THEN INSERT VALUES (3, t)",
			"SELECT * FROM made ORDER BY 1, 2", "ROLLBACK")
	}},
}

// execution runs the query that is prepared as e.
func execution(q sqlgen.Query) string {
	if len(q.Params) == 0 {
		return "EXECUTE e"
	}
	return "EXECUTE e('" + strings.Join(q.Params, "', '") + "')"
}

// option is one of EXPLAIN.
func option(q sqlgen.Query) string {
	options := []string{
		"", "VERBOSE ", "(COSTS off) ", "(ANALYZE off, FORMAT text) ", "(FORMAT json) ", "(FORMAT yaml, VERBOSE) ",
		"(FORMAT xml) ",
	}
	return options[len(q.Literal())%len(options)]
}

// steps sends messages until one fails.
func (p *peer) steps(ctx context.Context, ordered bool, list ...string) error {
	for i, sql := range list {
		p.fetching, p.executing = strings.HasPrefix(sql, "FETCH"), strings.HasPrefix(sql, "EXECUTE")
		if err := p.simple(ctx, sql, ordered); err != nil {
			return err
		}
		if p.failed != nil {
			if strings.HasPrefix(list[0], "PREPARE") && i > 0 {
				return p.simple(ctx, "DEALLOCATE e", true)
			}
			return nil
		}
	}
	return nil
}

// TestSplicing sends the same statements to dpproxy and to Postgres, without noise, and
// wants the same names, types, typmods, formats, rows, order, tags and codes of errors.
func TestSplicing(t *testing.T) {
	want, seed := number(t, "DPPROXY_VARIANTS", 300), uint64(number(t, "DPPROXY_SEED", 1))
	peers := newPeers(t, dense)
	run := &run{t: t, features: map[string]int{}, refusals: map[string]int{}}
	mine, its := peers.sessions(t)
	for n := uint64(0); run.equal+run.differ < want && run.differ < 20 && run.refused <= want; n++ {
		g := sqlgen.New(seed + n)
		q, w := g.Query(), ways[rand.New(rand.NewPCG(seed+n, 1)).IntN(len(ways))]
		before := peers.ledger.charges.Load()
		for _, p := range []*peer{mine, its} {
			p.begin()
			if err := w.send(t.Context(), p, q); err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed+n, w.name, err, q.Literal())
			}
		}
		run.compare(seed+n, w, q, mine, its)
		if slices.Contains(free, w.name) && peers.ledger.charges.Load() != before {
			t.Errorf("seed %d, %s: it is charged\n%s", seed+n, w.name, q.Literal())
		}
	}
	run.report()
	if peers.ledger.charges.Load() == 0 {
		t.Error("nothing was charged")
	}
}

// A run counts outcomes.
type run struct {
	t                             *testing.T
	equal, differ, refused, raise int
	// elsewhere are statements of which an error of an expression hit one alone, as in which
	// order conditions and targets are evaluated is not defined; or that Postgres can only
	// plan when it knows how few rows there are.
	elsewhere          int
	features, refusals map[string]int
}

func (r *run) compare(seed uint64, w way, q sqlgen.Query, mine, its *peer) {
	if mine.failed != nil && refusal(mine.failed.Code) && !slices.Equal(mine.lines, its.lines) {
		r.refused++
		r.refusals[mine.failed.Code+" "+mine.failed.Message]++
		if r.refused <= verbose {
			r.t.Logf("seed %d, %s: %s\n%s", seed, w.name, mine.failed.Message, q.Literal())
		}
		return
	}
	if (mine.failed == nil) != (its.failed == nil) &&
		(dataException(mine) && dataException(its) || its.failed != nil && its.failed.Code == pgerr.FeatureNotSupported.String()) {
		r.elsewhere++
		return
	}
	if !slices.Equal(mine.lines, its.lines) {
		r.differ++
		r.t.Errorf("seed %d, %s\n%s\n%q\nPostgres: %s\ndpproxy:  %s", seed, w.name, q.SQL(), q.Params, excerpt(its, mine),
			excerpt(mine, its))
		return
	}
	r.equal++
	if its.failed != nil {
		r.raise++
		r.features["raises "+its.failed.Code]++
	}
	r.features[w.name]++
	for _, f := range q.Features {
		r.features[f]++
	}
}

// dataException reports whether nothing but an error of class 22 befell a peer.
func dataException(p *peer) bool { return p.failed == nil || strings.HasPrefix(p.failed.Code, "22") }

// verbose is how many refused statements are shown.
const verbose = 5

// refusal reports whether a code says that dpproxy does not take a statement.
func refusal(code string) bool {
	return strings.HasPrefix(code, "PB") || code == pgerr.FeatureNotSupported.String()
}

// excerpt shows the first lines that only one of two has.
func excerpt(p, other *peer) string {
	var only []string
	for i, line := range p.lines {
		if (i >= len(other.lines) || other.lines[i] != line) && len(only) < 4 {
			only = append(only, fmt.Sprintf("line %d: %.400s", i+1, line))
		}
	}
	if p.failed != nil {
		only = append(only, p.failed.Error())
	}
	return strings.Join(only, "\n          ")
}

func (r *run) report() {
	r.t.Logf("%d equal (%d of them errors), %d raised in one alone, %d different, %d refused", r.equal, r.raise, r.elsewhere,
		r.differ, r.refused)
	for _, counts := range []map[string]int{r.features, r.refusals} {
		for _, f := range slices.Sorted(maps.Keys(counts)) {
			r.t.Logf("%6d: %s", counts[f], f)
		}
	}
	if r.refused > r.equal/2 {
		r.t.Errorf("%d refused, %d equal: too little is compared", r.refused, r.equal)
	}
}
