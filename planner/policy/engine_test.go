package policy_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// TestEngines tells Postgres from engines that speak like it.
func TestEngines(t *testing.T) {
	const gcc = " on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit"
	for _, c := range []struct{ version, want string }{
		{"PostgreSQL 15.14 (Debian 15.14-0+deb12u1)" + gcc, ""},
		{"PostgreSQL 18.4 on x86_64-linux, compiled by gcc-12.2.0, 64-bit", ""},
		{"PostgreSQL 16.4 (Ubuntu 16.4-1.pgdg22.04+1)" + gcc, ""},
		{"PostgreSQL 17.0 on x86_64-windows, compiled by msvc-19.41.34120, 64-bit", ""},
		{"PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc (GCC) 9.5.0, 64-bit", ""},
		{"PostgreSQL 17.5 (Homebrew) on aarch64-apple-darwin24.4.0, compiled by Apple clang version 17.0.0 (clang-1700), 64-bit", ""},
		{"PostgreSQL 15.4 - Percona Distribution" + gcc, ""},
		{"PostgreSQL 15.4 (Built By Us)" + gcc, ""},
		{"PostgreSQL 15.4 (Acme 1.2)" + gcc, `a builder that dpproxy does not know, "Acme 1.2"`},
		{"PostgreSQL 14.4 (Apache Cloudberry 2.0.0 build 1)" + gcc, "Cloudberry, not Postgres"},
		{"PostgreSQL 12.12 (Greenplum Database 7.1.0 build commit:1)" + gcc, "Greenplum, not Postgres"},
		{"PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit", "YugabyteDB, not Postgres"},
		{"CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu, built 2025/05/09 18:53:57, go1.23.7)", "CockroachDB, not Postgres"},
		{"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103", "Redshift, not Postgres"},
		{"PostgreSQL 15.3 (EnterpriseDB Advanced Server 15.3.0)" + gcc, "EnterpriseDB Advanced Server"},
		{"PostgreSQL 16.0-acme" + gcc, "an engine that dpproxy does not know"},
	} {
		p, s := clinicPolicy(), clinicSchema()
		p.Trusted, s.Engine.Version = []string{"Built By Us"}, c.version
		_, problems := policy.Check(p, s)
		refusedWith(t, c.version, problems, c.want)
	}
}

// refusedWith compares the problems with a part of the only one there shall be, or none.
func refusedWith(t *testing.T, of string, problems []policy.Problem, want string) {
	t.Helper()
	switch {
	case want == "" && problems != nil:
		t.Errorf("%s: %v", of, problems)
	case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].String(), want)):
		t.Errorf("%s: %v, want %q", of, problems, want)
	}
}

// TestExtensions refuses extensions that plan or store, and unknown ones unless the administrator says that they do not.
func TestExtensions(t *testing.T) {
	for name, want := range map[string]string{
		"plpgsql": "", "pg_trgm": "", "acme_types": "", "citus": "name a server that holds all rows itself", "timescaledb": "chunks",
		"pg_duckdb": "DROP EXTENSION", "other": "the extension other, which dpproxy does not know",
	} {
		p, s := clinicPolicy(), clinicSchema()
		p.Trusted, s.Engine.Extensions = []string{"acme_types", "citus"}, []string{name}
		_, problems := policy.Check(p, s)
		refusedWith(t, name, problems, want)
	}
}

// TestStorage refuses rows that are elsewhere, or stored in another way, protected and public ones.
func TestStorage(t *testing.T) {
	of := func(part string, kind byte, method string) catalog.Storage {
		return catalog.Storage{Name: name(part), Kind: kind, Method: method}
	}
	for _, table := range []string{"visits", "hospitals"} {
		for _, c := range []struct {
			kind   byte
			stored catalog.Storage
			want   string
		}{
			{'r', of(table, 'r', "heap"), ""},
			{'r', of(table, 'r', "columnar"), "the access method columnar"},
			{'p', of("part", 'r', "heap"), ""},
			{'p', of("part", 'f', "none"), "its partition public.part is a foreign table"},
			{'p', of("part", 'r', "orioledb"), "its partition public.part is stored by the access method orioledb"},
		} {
			p, s := clinicPolicy(), clinicSchema()
			s.Tables[name(table)].Kind, s.Tables[name(table)].Stored = c.kind, []catalog.Storage{c.stored}
			_, problems := policy.Check(p, s)
			refusedWith(t, table+" "+c.stored.Method, problems, c.want)
		}
	}
}
