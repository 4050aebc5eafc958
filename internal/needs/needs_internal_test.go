package needs

import (
	"slices"
	"strings"
	"testing"
)

// TestGroups holds that the script is read as it stands, with both ways in which it asks
// for a package.
func TestGroups(t *testing.T) {
	script, err := read()
	if err != nil {
		t.Fatal(err)
	}
	found := groups(string(script))
	for name, packages := range map[string][]string{
		"base": {"gcc", "postgresql-15"}, "test": {"redis-server", "python3-asyncpg"},
		"clients": {"pgcli", "python3-pyodbc", "npm", "tcl8.6-tdbc-postgres"}, "nafld": {"r-cran-survival"},
	} {
		i := slices.IndexFunc(found, func(g group) bool { return g.name == name })
		for _, p := range packages {
			if i < 0 || !found[i].has(p) {
				t.Errorf("group %s has no %s: %v", name, p, found)
			}
		}
	}
}

func TestExcuse(t *testing.T) {
	const script = `
	base)
		command -v gcc >/dev/null || missing="$missing gcc"
		;;
	test)
		need redis-server /usr/bin/redis-server
		;;
	clients)
		need r-base-core /usr/bin/Rscript
		need pgcli $python/pgcli
		;;
	nafld)
		need r-base-core /usr/bin/Rscript
		;;
`
	for _, c := range []struct{ packages, want string }{
		{"pgcli", "not installed: a program or module of pgcli (make clients installs it)"},
		{"r-base-core", "not installed: a program or module of r-base-core (make clients or make nafld installs it)"},
		{"r-base-core pgcli", "not installed: a program or module of r-base-core, pgcli (make clients installs it)"},
		{"gcc", "error: gcc is not installed, though scripts/setup.sh base installs it"},
		{"pgcli redis-server", "error: redis-server is not installed, though scripts/setup.sh test installs it"},
		{"pgcli other", "error: no group of scripts/setup.sh installs pgcli, other"},
		{"", "error: needs no package, and does not run"},
	} {
		got, err := excuse(script, strings.Fields(c.packages))
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.packages, got, c.want)
		}
	}
}
