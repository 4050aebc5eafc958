package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpproxy/internal/needs"
	"dpproxy/internal/sitetest"
)

// A client is a program that talks to dpproxy as it would to Postgres.
type client struct {
	name    string
	command []string
	env     []string
	// needs is a command that succeeds where the client is installed, by these Debian
	// packages of scripts/setup.sh; clients that are not installed are left out.
	needs    []string
	packages string
	// slow is a client that the long run alone drives.
	slow bool
	// want are regular expressions, one for each line of the output that is not a
	// line of the list.
	want []string
}

// Parts of the output of most clients.
const (
	groupRows = `aggregate: asthma/(str|string|String) #/(int|string|Long|int64) #/(Decimal|string|BigDecimal|\[\]uint8)
aggregate: cold/.*
aggregate: flu/.*`
	charged  = `page: 3 rows 1 charge`
	canceled = `cancel: 57014`
	refused  = `error: PB002 rows of protected table "patients" cannot be read at 15`
)

// python is Debian's, which its packages are for. It is isolated (-I): a
// module that is not installed must not be found in the working directory, whose folders have the clients' names.
var python = []string{"/usr/bin/python3", "-I"}

func pythonClient(folder, module, packages string, want ...string) client {
	return client{
		name: folder, command: append(slices.Clip(python), filepath.Join(folder, "client.py")),
		needs: append(slices.Clip(python), "-c", "import "+module), packages: packages, want: want,
	}
}

func nodeClient(name, module string, want ...string) client {
	return client{
		name: name, command: []string{"node", filepath.Join("node", name+".js")},
		needs: []string{"node", "-e", "require.resolve('" + module + "', {paths: ['node']})"}, packages: "npm", want: want,
	}
}

const jdbcJar = "/usr/share/java/postgresql.jar"

func jdbcClient(name string, env, want []string) client {
	return client{
		name: name, command: []string{"java", "-cp", jdbcJar, filepath.Join("jdbc", "Client.java")}, env: env,
		needs:    []string{"sh", "-c", "command -v java && test -e " + jdbcJar},
		packages: "libpostgresql-jdbc-java default-jdk-headless", want: want,
	}
}

const odbcDriver = "/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so"

func odbcClient(name, options string) client {
	return client{
		name: name, command: append(slices.Clip(python), "odbc/client.py"),
		env:      []string{"ODBC_DRIVER=" + odbcDriver, "ODBC_OPTIONS=" + options},
		needs:    append(slices.Clip(python), "-c", "import pyodbc, os; os.stat('"+odbcDriver+"')"),
		packages: "odbc-postgresql python3-pyodbc",
		want:     []string{groupRows, charged, canceled, `error: PB002 rows of protected table "patients" cannot be read`, "recover: 1"},
	}
}

func shellClient(name, pkg string, want ...string) client {
	return client{
		name: name, command: []string{"sh", filepath.Join(name, "client.sh")}, needs: []string{"which", name},
		packages: pkg, want: want,
	}
}

// goClient is a command of the module suites, which has versions of its own.
func goClient(name string, want ...string) client {
	return client{
		name: name, command: []string{"go", "-C", "suites", "run", "./" + name + "client"},
		needs: []string{"go", "-C", "suites", "build", "-o", os.DevNull, "./" + name + "client"}, want: want,
	}
}

// scriptClient is a program in a language that its interpreter runs; needs are arguments
// with which the interpreter loads the driver.
func scriptClient(folder, interpreter, program string, needs []string, packages string, want ...string) client {
	return client{
		name: folder, command: []string{interpreter, filepath.Join(folder, program)}, slow: true,
		needs: append([]string{interpreter}, needs...), packages: packages, want: want,
	}
}

// slow makes a client one that the long run alone drives.
func slow(c client) client {
	c.slow = true
	return c
}

// matrix is every client that is installed from a package registry.
var matrix = []client{
	shellClient("psql", "postgresql-client-15", `aggregate: asthma/text #/bigint #/numeric`, "aggregate: cold/.*", "aggregate: flu/.*",
		charged, canceled, `error: PB002 rows of protected table "patients" cannot be read`,
		"error: 25P02 current transaction is aborted, commands ignored until end of transaction block", "recover: 1"),
	shellClient("pgbench", "postgresql-15", "simple: 20/20", `simple: number of failed transactions: 0 \(0.000%\)`, "extended: 20/20",
		`extended: number of failed transactions: 0 \(0.000%\)`, "prepared: 20/20",
		`prepared: number of failed transactions: 0 \(0.000%\)`),
	goClient("pgx", "aggregate: cache statement SELECT 3", "aggregate: cache describe SELECT 3", "aggregate: exec SELECT 3",
		"aggregate: simple protocol SELECT 3",
		"batch: 3 <nil>", charged, canceled, refused, "recover: 1"),
	goClient("pq", groupRows, charged, canceled, refused, "recover: 1"),
	pythonClient("psycopg2", "psycopg2", "python3-psycopg2", groupRows, charged, canceled, refused, "failed transaction: 25P02",
		"recover: 1"),
	pythonClient("psycopg3", "psycopg", "python3-psycopg", groupRows, groupRows, charged, "pipeline: int int int",
		"copy: asthma cold flu", canceled, refused, "recover: 1"),
	pythonClient("asyncpg", "asyncpg", "python3-asyncpg", groupRows, "enum: f m", charged, canceled, refused, "recover: 1"),
	pythonClient("sqlalchemy", "sqlalchemy, pandas, psycopg2", "python3-sqlalchemy",
		groupRows, "pandas: object int64 (object|float64) 3", charged, canceled, refused, "recover: 1"),
	pythonClient("pgcli", "pgcli", "pgcli", charged, refused, "recover: 1"),
	odbcClient("odbc", ""),
	odbcClient("odbc UseDeclareFetch", "UseDeclareFetch=1;Fetch=1"),
	jdbcClient("jdbc", nil, []string{
		`described: diagnosis text java.lang.String`, `described: n int8 java.lang.Long`, `described: mean numeric java.math.BigDecimal`,
		groupRows, groupRows, charged, canceled, refused, "recover: 1 true",
	}),
	jdbcClient("jdbc simple", []string{"JDBC_QUERY_MODE=simple"}, []string{
		groupRows, groupRows, charged, canceled, refused, "recover: 1 true",
	}),
	nodeClient("pg", "pg-cursor", groupRows, groupRows, charged, "several: SELECT 1, SELECT 1, SELECT 1", canceled, refused, "recover: 1"),
	// knex cancels by the process id that a session was given at its start, so that must
	// be the one that pg_cancel_backend knows.
	nodeClient("knex", "knex", groupRows, charged, "timeout: KnexTimeoutError", "cancel: in time",
		`error: PB002 rows of protected table "patients" cannot be read at \d+`, "recover: 1"),
	nodeClient("sequelize", "sequelize", groupRows, groupRows, charged, canceled, refused, "recover: 1"),
	nodeClient("postgresjs", "postgres", groupRows, charged, "pipeline: string string number", canceled, refused, "recover: 1"),
	scriptClient("perl", "perl", "client.pl", []string{"-MDBD::Pg", "-e", "1"}, "libdbd-pg-perl",
		"aggregate: asthma text int8 numeric", "aggregate: cold .*", "aggregate: flu .*", "aggregate: asthma .*",
		"aggregate: cold .*", "aggregate: flu .*",
		charged, canceled, `error: PB002 rows of protected table "patients" cannot be read`, "recover: 1"),
	scriptClient("php", "php", "client.php",
		[]string{"-r", "exit((int)!(extension_loaded('pdo_pgsql') && extension_loaded('pgsql')));"}, "php-cli php-pgsql",
		"aggregate: asthma/string #/integer #/string", "aggregate: cold.*", "aggregate: flu.*", "aggregate: asthma.*",
		"aggregate: cold.*", "aggregate: flu.*",
		charged, canceled, refused, "recover: 1"),
	scriptClient("ruby", "ruby", "client.rb", []string{"-rpg", "-rsequel", "-e", ""}, "ruby-pg ruby-sequel",
		"aggregate: asthma/String #/Integer #/BigDecimal", "aggregate: cold.*", "aggregate: flu.*", "binary: Integer Float",
		charged, charged, canceled, refused, "recover: 1"),
	scriptClient("activerecord", "ruby", "client.rb", []string{"-rpg", "-ractive_record", "-e", ""}, "ruby-pg ruby-activerecord",
		"aggregate: asthma/String #/Integer #/BigDecimal", "aggregate: cold.*", "aggregate: flu.*", "group: asthma cold flu",
		"join: 5", "count: Integer BigDecimal Integer",
		canceled, `error: PB002 rows of protected table "visits" cannot be read`, "recover: 1"),
	slow(pythonClient("django", "django, psycopg2", "python3-django",
		groupRows, "join: 5", "years: 5", charged, canceled, `error: PB002 rows of protected table "visits" cannot be read`, "recover: 1")),
	scriptClient("tcl", "tclsh", "client.tcl", []string{"tcl/needs.tcl"}, "tcl tcl8.6-tdbc-postgres libpgtcl",
		"aggregate: asthma 3", "aggregate: cold 3", "aggregate: flu 3", charged, canceled,
		`error: PB002 rows of protected table "patients" cannot be read`, "recover: 1"),
	scriptClient("r", "Rscript", "client.R", []string{"-e", "library(RPostgreSQL); library(dbplyr)"},
		"r-base-core r-cran-rpostgresql r-cran-dbplyr",
		"aggregate: asthma numeric numeric", "aggregate: cold.*", "aggregate: flu.*", charged, "dplyr: asthma cold flu", "dplyr join: 5",
		`error: rows of protected table "visits" cannot be read`, "recover: 1"),
	nodeClient("cube", "@cubejs-backend/postgres-driver", groupRows, charged, `types: \["text","bigint"\]`, refused, "recover: 1"),
}

// TestMatrix drives each client through one conversation with TLS and SCRAM: it
// lists the schema, which must be as in the real database, aggregates with
// a parameter, reads pages of one answer, cancels, is refused and goes on.
func TestMatrix(t *testing.T) {
	s := newSite(t, clinicOptions(), "")
	for _, c := range matrix {
		t.Run(c.name, func(t *testing.T) {
			needs.Asked(t, *long || !c.slow, "clients")
			if out, err := exec.CommandContext(t.Context(), c.needs[0], c.needs[1:]...).CombinedOutput(); err != nil {
				c.missing(t, fmt.Sprintf("%v\n%s", err, out))
			}
			direct, _ := c.run(t, s.realEnv(), "list")
			through, rest := c.run(t, s.clientEnv(t), "all")
			if !strings.Contains(direct, "list: ") || direct != through {
				t.Errorf("the schema in the real database:\n%s\nthrough dpproxy:\n%s", direct, through)
			}
			want := strings.Join(append([]string{"connect: ok"}, c.want...), "\n")
			if !regexp.MustCompile("^" + want + "\n$").MatchString(rest) {
				t.Errorf("want\n%s\ngot\n%s", want, rest)
			}
		})
	}
}

// missing ends the test of a client that is not installed; the long run has no excuse.
func (c client) missing(t *testing.T, why string) {
	t.Helper()
	if *long {
		t.Fatalf("%s is not installed: %s", c.name, why)
	}
	needs.Missing(t, why, strings.Fields(c.packages)...)
}

// TestMissingModule looks for modules that are not installed and are named as folders of
// the working directory are.
func TestMissingModule(t *testing.T) {
	for _, folder := range []string{"perl", "suites", "testdata"} {
		c := pythonClient(folder, folder, "")
		out, err := exec.CommandContext(t.Context(), c.needs[0], c.needs[1:]...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ModuleNotFoundError") {
			t.Errorf("the module %s is found: %v\n%s", folder, err, out)
		}
	}
}

// run returns the lines that list the schema, and the others.
func (c client) run(t *testing.T, env []string, what string) (list, rest string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, c.command[0], append(c.command[1:len(c.command):len(c.command)], what)...)
	cmd.Env = append(append(os.Environ(), env...), c.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", c.name, what, err, out, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "list: ") {
			list += line
		} else {
			rest += line
		}
	}
	return list, rest
}

// clientEnv leads to dpproxy in the way of libpq.
func (s *site) clientEnv(t *testing.T) []string {
	t.Helper()
	host, port := s.hostPort(t)
	env := []string{"PGHOST=" + host, "PGPORT=" + port, "PGDATABASE=" + s.Database, "PGUSER=ana", "PGPASSWORD=" + sitetest.Password}
	if s.Authority == nil {
		return append(env, "PGSSLMODE=disable")
	}
	return append(env, "PGSSLMODE=verify-full", "PGSSLROOTCERT="+s.Authority.Root, "NODE_EXTRA_CA_CERTS="+s.Authority.Root)
}
