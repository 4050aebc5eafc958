package bench_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var (
	growthRows = flag.Int("growth", 0, "measure time and memory of reads of up to so many rows")
	growthOnly = flag.String("growing", "", "measure only statements that match this")
)

// A crowd is a table of so many rows of so many people, with values of so many different keys.
type crowd struct{ rows, people, keys int }

func (c crowd) name() string { return fmt.Sprintf("r%d_p%d_k%d", c.rows, c.people, c.keys) }

// fewKeys is how many keys there are where no group is private.
const fewKeys = 1000

// crowds are tables of more and more rows, of people with a row each, and of private groups; of at most so many rows.
func crowds(most int) (all []crowd) {
	for n := 100_000; n <= 10_000_000; n *= 10 {
		all = append(all, crowd{n, n / 10, fewKeys})
	}
	for _, n := range []int{10_000, 100_000, 1_000_000, 5_000_000} {
		all = append(all, crowd{n, n, fewKeys})
	}
	for _, n := range []int{10_000, 100_000, 1_000_000, 3_000_000} {
		all = append(all, crowd{3_000_000, 300_000, n})
	}
	return slices.DeleteFunc(all, func(c crowd) bool { return c.rows > most })
}

const growthPolicy = `privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6}}
tables:
%sanalysts:
  ana: {password: VERIFIER, tables: [%s]}
limits: {statement_timeout: 30m, reply_grid: 0, data_connections: 4, fold_memory: 65536}
`

// grown are statements of each way in which rows are added up. All but the last have public groups.
var grown = []string{
	"SELECT grp, count(*), sum(w) FROM %s GROUP BY grp",
	"SELECT grp, percentile_disc(0.5) WITHIN GROUP (ORDER BY w) FROM %s GROUP BY grp",
	"SELECT count(DISTINCT w) FROM %s",
	"SELECT k, count(*) FROM %s GROUP BY k",
}

// TestGrowth prints the time of statements and the most memory that dpproxy has meanwhile, over more and more rows, people and
// groups: where all rows fit into limits.fold_memory, and where 32 MB are for each read, so that most are read by unit. The time
// is the lesser of two. Memory is resident: with what the collector has not yet freed, which is as much again at most.
func TestGrowth(t *testing.T) {
	if *growthRows == 0 {
		return // a measurement, not a test: make growth runs it
	}
	data := measuredPostgres(t)
	super := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	var tables, names strings.Builder
	all := crowds(*growthRows)
	for i, c := range all {
		fillCrowd(t, super, c)
		fmt.Fprintf(&tables, "  %s: {unit: uid, columns: {grp: {bounds: [0, 9]}, w: {bounds: [0, 999]}}}\n", c.name())
		names.WriteString([]string{"", ", "}[min(i, 1)] + c.name())
	}
	s := sitetest.Make(t, sitetest.Options{Data: data, Policy: fmt.Sprintf(growthPolicy, &tables, &names)})
	var table strings.Builder
	for _, memory := range []string{"16 GB", "32 MB"} {
		site := s
		if memory == "32 MB" {
			site = s.Variant(t, "fold_memory: 65536", "fold_memory: 128")
		}
		for _, c := range all {
			for i, sql := range grown {
				private := i == len(grown)-1
				if private != (c.keys > fewKeys) || !regexp.MustCompile(*growthOnly).MatchString(sql) {
					continue
				}
				took, peak := growthOf(t, site, fmt.Sprintf(sql, c.name()))
				fmt.Fprintf(&table, "| `%s` | %d | %d | %d | %s | %v | %d |\n", fmt.Sprintf(sql, "t"), c.rows, c.people, c.keys, memory,
					took.Round(10*time.Millisecond), peak>>10)
				t.Logf("%s: %v, %d MB", fmt.Sprintf(sql, c.name()), took, peak>>10) // it takes long, and somebody waits
			}
		}
	}
	n := all[0].rows
	for _, c := range all {
		if c.rows == c.people {
			n = c.rows // the most
		}
	}
	took, peak := crowded(t, s.Variant(t, "fold_memory: 65536", "fold_memory: 256", "data_connections: 4", "data_connections: 16"),
		fmt.Sprintf(grown[0], crowd{n, n, fewKeys}.name()))
	t.Logf("%d clients at once, each over %d people with a row, 256 MB for all reads: %v, %d MB",
		clients, n, took.Round(time.Second), peak>>10)
	t.Logf("load %s\n| statement | rows | people | keys | memory of a read | time | resident, MB |\n"+
		"| --- | --- | --- | --- | --- | --- | --- |\n%s", load(t), &table)
}

// growthOf asks a fresh dpproxy, whose memory nothing else has used.
func growthOf(t *testing.T, s *sitetest.Site, sql string) (took time.Duration, peak int) {
	t.Helper()
	r := s.Run(t)
	defer r.Stop()
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.notice = off")
	for run := range 2 {
		start := time.Now()
		sitetest.Exec(t, ana, sql)
		if d := time.Since(start); run == 0 || d < took {
			took = d
		}
	}
	return took, sitetest.PeakKiB(t, r)
}

// clients are as many as ask at once.
const clients = 16

// crowded has many clients ask at once.
func crowded(t *testing.T, s *sitetest.Site, sql string) (took time.Duration, peak int) {
	t.Helper()
	r := s.Run(t)
	defer r.Stop()
	var all sync.WaitGroup
	start := time.Now()
	for range clients {
		ana := sitetest.Dial(t, r.URL("ana"))
		all.Go(func() {
			if _, err := ana.Exec(t.Context(), sql); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(start), sitetest.PeakKiB(t, r)
}

// fillCrowd makes a table in no order.
func fillCrowd(t *testing.T, conn *pgx.Conn, c crowd) {
	t.Helper()
	for _, sql := range []string{
		fmt.Sprintf("CREATE TABLE %s (uid int NOT NULL, grp int NOT NULL, k int NOT NULL, w int NOT NULL)", c.name()),
		fmt.Sprintf("INSERT INTO %s SELECT i * 7919::bigint %% %d, i %% 10, i * 104729::bigint %% %d, i %% 1000 "+
			"FROM generate_series(1, %d) i", c.name(), c.people, c.keys, c.rows),
		"VACUUM ANALYZE " + c.name(),
	} {
		sitetest.Exec(t, conn, sql)
	}
}
