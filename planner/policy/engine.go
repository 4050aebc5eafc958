package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// Proofs rest on Postgres where the rows are: its locks, snapshots, keys, planner and settings. An engine that
// speaks like Postgres, an extension that plans or stores otherwise, and a table that is stored elsewhere are refused by name.

// ordinary is the form of version() on a Postgres; the first group is the builder's name for it, if there is one.
var ordinary = regexp.MustCompile(`^PostgreSQL [0-9]+(?:\.[0-9]+|beta[0-9]+|rc[0-9]+)?(?: \(([^()]+)\))?(?: - Percona [A-Za-z0-9 .-]+)?` +
	` on [^ ,]+, compiled by .+, (?:32|64)-bit$`)

// builders are those whose Postgres is as it is published, by the first word that version() says of them.
var builders = []string{"Debian", "Homebrew", "Percona", "Postgres.app", "Ubuntu"}

// An otherEngine is no Postgres: a part of its version(), its name, and why no proof holds there.
type otherEngine struct{ part, name, why string }

// engines are known to be other ones. The reasons are from their documentation.
var engines = []otherEngine{
	{"-YB-", "YugabyteDB", "its locks, indexes and snapshots are others"},
	{"CockroachDB", "CockroachDB", "it has no LOCK TABLE, and other snapshots"},
	{"Redshift", "Redshift", "it does not enforce keys"},
	{"Greenplum", "Greenplum", "another planner than that of Postgres ignores the settings of reads"},
	{"Cloudberry", "Cloudberry", "it does not enforce foreign keys, and another planner ignores the settings of reads"},
}

// placing are extensions that keep or read rows in ways of which no proof is known, each with the reason and the way out.
var placing = map[string]string{
	"citus": "it runs statements on other servers, without the settings of dpproxy's sessions, and writes the keys of random choices " +
		"into their logs: name a server that holds all rows itself, and DROP EXTENSION there",
	"citus_columnar": "it stores tables in another way: ALTER TABLE ... SET ACCESS METHOD heap, and DROP EXTENSION",
	"columnar":       "it stores tables in another way: ALTER TABLE ... SET ACCESS METHOD heap, and DROP EXTENSION",
	"orioledb":       "it stores tables in another way: ALTER TABLE ... SET ACCESS METHOD heap, and DROP EXTENSION",
	"pg_duckdb":      "its reads can compute numerics as floating-point values: DROP EXTENSION, or name a database without it",
	"pg_mooncake":    "it stores and reads tables in another way: DROP EXTENSION, or name a database without it",
	"pg_search":      "it plans and reads tables in a way of its own: DROP EXTENSION, or name a database without it",
	"pg_strom":       "it computes aggregates in a way of its own: DROP EXTENSION, or name a database without it",
	"timescaledb":    "it keeps rows in chunks and plans reads of them itself: name a database without it",
}

// harmless are extensions that neither plan nor store tables: those of Postgres, and widely used ones.
var harmless = strings.Fields(`adminpack amcheck autoinc bloom bool_plperl bool_plperlu btree_gin btree_gist citext cube dblink dict_int
	dict_xsyn earthdistance file_fdw fuzzystrmatch hstore hstore_plperl hstore_plperlu hstore_plpython3u insert_username intagg intarray
	isn jsonb_plperl jsonb_plperlu jsonb_plpython3u lo ltree ltree_plpython3u moddatetime old_snapshot pageinspect pg_buffercache
	pg_freespacemap pg_logicalinspect pg_prewarm pg_stat_statements pg_surgery pg_trgm pg_visibility pg_walinspect pgcrypto pgrowlocks
	pgstattuple plperl plperlu plpgsql plpython3u pltcl pltclu postgres_fdw refint seg sslinfo tablefunc tcn tsm_system_rows
	tsm_system_time unaccent uuid-ossp xml2
	address_standardizer address_standardizer_data_us h3 h3_postgis hll ip4r pg_cron pg_partman pg_repack pg_stat_kcache pgaudit pgtap
	plpgsql_check plv8 postgis postgis_raster postgis_sfcgal postgis_tiger_geocoder postgis_topology semver set_user vector`)

// engine refuses an engine, and extensions of it, that are not known.
func (c *checker) engine() {
	refuse := func(format string, args ...any) {
		c.problems = append(c.problems, problemOf([]string{"data"}, format, args...))
	}
	if e := c.schema.Engine.Version; e != "" {
		if why := c.unlike(e); why != "" {
			refuse("%s", why)
		}
	}
	for _, name := range c.schema.Engine.Extensions {
		switch why := placing[name]; {
		case why != "":
			refuse("the database has the extension %s: %s", name, why)
		case !slices.Contains(harmless, name) && !slices.Contains(c.policy.Trusted, name):
			refuse("the database has the extension %s, which dpproxy does not know: if it changes neither how statements are planned "+
				"nor how tables are stored, name it under trusted_extensions; else DROP EXTENSION", name)
		}
	}
}

// unlike says why an engine is not Postgres, by its version(); "" if it is.
func (c *checker) unlike(version string) string {
	for _, e := range engines {
		if strings.Contains(version, e.part) {
			return fmt.Sprintf("the protected database is %s, not Postgres: %s. Proofs hold on Postgres itself", e.name, e.why)
		}
	}
	m := ordinary.FindStringSubmatch(version)
	if m != nil && (m[1] == "" || slices.Contains(builders, strings.Fields(m[1])[0]) || slices.Contains(c.policy.Trusted, m[1])) {
		return ""
	}
	if m != nil {
		return fmt.Sprintf("the protected database is a Postgres of a builder that dpproxy does not know, %q: if it plans, stores and "+
			"locks as Postgres does, name that text under trusted_extensions", m[1])
	}
	return fmt.Sprintf("the protected database is an engine that dpproxy does not know, %q: proofs hold on Postgres itself", version)
}

// storage refuses a table whose rows are where, or stored as, nothing is proved of.
func (c *checker) storage(p *TablePolicy, src *catalog.Table) {
	for _, s := range src.Stored {
		what := "the table"
		if s.Name != src.Name {
			what = "its partition " + s.Name.String()
		}
		switch {
		case s.Kind == 'f' && s.Name != src.Name:
			c.problem(p.Name, "", "%s is a foreign table: keys, NOT NULL and bounds are not enforced where its rows are; "+
				"move the rows into a partition of this server, or detach it", what)
		case s.Kind == 'r' && s.Method != "heap":
			c.problem(p.Name, "", "%s is stored by the access method %s, of which nothing is proved: "+
				"ALTER TABLE ... SET ACCESS METHOD heap", what, s.Method)
		}
	}
}
