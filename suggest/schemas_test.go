package suggest_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/mirrortest"
	"dpproxy/planner/policy"
	"dpproxy/suggest"
)

// A reader has said of a schema what a policy should be: the lines at the head of its file.
type reader struct {
	name, sql string
	// person is the unit, "none", or asked with the candidates; unit is what to take then.
	person []string
	unit   string
	tables map[string]string // the decision about each table
	hidden []string
	open   []string
}

// readSchemas reads the schemas of the folder with what their readers say.
func readSchemas(t *testing.T) []reader {
	t.Helper()
	files, err := filepath.Glob("testdata/schemas/*.sql")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d schemas: %v", len(files), err)
	}
	var all []reader
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := reader{name: strings.TrimSuffix(filepath.Base(file), ".sql"), sql: string(text), tables: map[string]string{}}
		for line := range strings.Lines(string(text)) {
			key, rest, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "-- ")), ": ")
			if !strings.HasPrefix(line, "-- ") || !found {
				continue
			}
			values := strings.Split(rest, ", ")
			switch key {
			case "person":
				r.person = values
				r.unit = values[0]
			case "unit":
				r.unit = rest
			case "hidden":
				r.hidden = values
			case "open":
				r.open = values
			case "protected", "reference", "others", "asked", "public":
				for _, v := range values {
					r.tables[v] = key
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// surveys reads the catalogues of all schemas from one server, each in a schema of its own, and gives each as if it were
// a database.
func surveys(t *testing.T, all []reader) map[string]*introspect.Survey {
	t.Helper()
	conn := mirrortest.Connect(t, mirrortest.Start(t).URL("postgres", pgtemp.Superuser))
	for _, r := range all {
		mirrortest.Run(t, conn, "CREATE SCHEMA "+r.name+"; SET search_path = "+r.name+";"+r.sql)
	}
	whole, err := introspect.ReadSurvey(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*introspect.Survey{}
	for _, r := range all {
		schema := *whole.Schema
		schema.Database, schema.Tables = r.name, map[catalog.Name]*catalog.Table{}
		out[r.name] = &introspect.Survey{Schema: &schema}
		for n, table := range whole.Tables {
			if n.Schema == r.name {
				schema.Tables[n] = table
			}
		}
	}
	return out
}

// decisions are those of a draft about each table, by name.
func decisions(d *suggest.Draft) map[string]string {
	all := map[string]string{}
	note := func(n catalog.Name, what string) { all[n.Name] = what }
	for _, t := range d.Tables {
		note(t.Source.Name, "protected")
	}
	for _, n := range d.Clear {
		note(n, "public")
	}
	for _, q := range d.Asked {
		note(q.Table, "asked")
	}
	for _, o := range d.References {
		note(o.Table, "reference")
	}
	for _, o := range slices.Concat(d.Others, d.Theirs) {
		note(o.Table, "others")
	}
	return all
}

// hiddenIn says of each column of the protected and the reference tables whether it is hidden.
func hiddenIn(d *suggest.Draft) map[string]bool {
	all := map[string]bool{}
	tables := slices.Clone(d.Tables)
	for _, o := range d.References {
		tables = append(tables, o.As)
	}
	for _, t := range tables {
		for _, c := range t.Columns {
			all[t.Source.Name.Name+"."+c.Source.Name] = c.Policy == "hidden"
		}
	}
	return all
}

// A tally counts how decisions compare with those of a reader.
type tally struct {
	right, all, dangerous int
	wrong                 []string
}

func (c *tally) add(right, dangerous bool, format string, args ...any) {
	c.all++
	if right {
		c.right++
		return
	}
	said := fmt.Sprintf(format, args...)
	if dangerous {
		c.dangerous++
		said = "DANGEROUS " + said
	}
	c.wrong = append(c.wrong, said)
}

// compare holds a draft against its reader. Dangerous is what shows rows of people, or who they are, without a word.
func (r reader) compare(d *suggest.Draft) tally {
	var c tally
	got := decisions(d)
	for _, name := range slices.Sorted(maps.Keys(r.tables)) {
		want := r.tables[name]
		dangerous := got[name] == "public" || got[name] == "protected" && want == "public"
		c.add(got[name] == want, dangerous, "%s is %q, the reader says %s", name, got[name], want)
	}
	hidden := hiddenIn(d)
	for _, column := range r.hidden {
		is, protected := hidden[column]
		c.add(is, protected, "%s is open", column)
	}
	for _, column := range r.open {
		is, protected := hidden[column]
		c.add(protected && !is, false, "%s is hidden", column)
	}
	return c
}

// personOf tells whom a draft without choices protects.
func personOf(d *suggest.Draft, err error) []string {
	var unclear *suggest.UnclearError
	switch {
	case err == nil:
		return []string{d.Unit.Table.Name + "." + d.Unit.Column}
	case errors.As(err, &unclear):
		all := []string{"asked"}
		for _, a := range unclear.Candidates {
			all = append(all, a.Table.Name+"."+a.Column)
		}
		return all
	}
	return []string{"none"}
}

// questions counts those of the dialogue.
func questions(d *suggest.Draft, unclear bool) (n int) {
	several, doubtful := false, false
	for _, q := range d.Asked {
		several, doubtful = several || q.Several, doubtful || !q.Several
	}
	for _, is := range []bool{unclear, len(d.Others) > 0, several, len(d.Clear) > 0, doubtful, true} {
		if is {
			n++
		}
	}
	return n
}

// TestSchemas holds the drafts of many schemas against what careful readers say: whom each protects, what becomes of each table, which
// columns are hidden. None may be dangerous.
func TestSchemas(t *testing.T) {
	all := readSchemas(t)
	databases := surveys(t, all)
	var sum tally
	persons := 0
	t.Logf("%-12s %-7s %-9s %-9s %-9s %s", "schema", "person", "right", "dangerous", "questions", "seconds")
	for _, r := range all {
		s, began := databases[r.name], time.Now()
		ch := suggest.NewChoices(suggest.Service{Listen: "127.0.0.1:0", Data: "postgres://r@d/x", Mirror: "postgres://m@m/x", Ledger: "/l"})
		d, err := suggest.New(s, ch)
		took := time.Since(began)
		person := personOf(d, err)
		right := slices.Equal(person, r.person)
		if right {
			persons++
		} else {
			t.Errorf("%s: the person is %v, the reader says %v", r.name, person, r.person)
		}
		if r.unit == "none" {
			continue
		}
		if table, column, _ := strings.Cut(r.unit, "."); err != nil || r.unit != person[0] {
			ch.Unit, ch.UnitColumn = catalog.Name{Schema: r.name, Name: table}, column
			if d, err = suggest.New(s, ch); err != nil {
				t.Errorf("%s: %v", r.name, err)
				continue
			}
		}
		fits(t, r.name, s, d)
		if n := strings.Count(d.Summary("read it"), "\n"); n > 15 {
			t.Errorf("%s: the summary has %d lines", r.name, n)
		}
		c := r.compare(d)
		t.Logf("%-12s %-7v %3d / %-3d %-9d %-9d %.3f", r.name, right, c.right, c.all, c.dangerous,
			questions(d, len(person) > 1), took.Seconds())
		for _, wrong := range c.wrong {
			t.Logf("    %s", wrong)
		}
		if c.dangerous > 0 {
			t.Errorf("%s: %d decisions are dangerous: %v", r.name, c.dangerous, c.wrong)
		}
		sum.right, sum.all, sum.dangerous = sum.right+c.right, sum.all+c.all, sum.dangerous+c.dangerous
	}
	t.Logf("%d of %d persons, %d of %d decisions (%.1f %%), %d dangerous", persons, len(all), sum.right, sum.all,
		100*float64(sum.right)/float64(sum.all), sum.dangerous)
	if sum.right*100 < sum.all*97 {
		t.Errorf("only %d of %d decisions are right", sum.right, sum.all)
	}
}

// fits holds that dpproxy check takes the policy of a draft, but for what the mirror proves of views.
func fits(t *testing.T, name string, s *introspect.Survey, d *suggest.Draft) {
	t.Helper()
	p, err := config.Parse(name, []byte(d.YAML()))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, d.YAML())
		return
	}
	schema := *s.Schema
	schema.Tables = maps.Clone(schema.Tables)
	maps.DeleteFunc(schema.Tables, func(_ catalog.Name, table *catalog.Table) bool { return table.Kind == 'v' })
	m, problems := policy.Check(p.Tables, &schema)
	if len(problems) > 0 {
		t.Errorf("%s: %v", name, problems)
		return
	}
	for _, o := range d.References {
		if of := m.Table(o.Table); of == nil || !of.Reference || len(policy.LookedUpBy(m, of)) == 0 {
			t.Errorf("%s: no statement can read the reference table %v", name, o.Table)
		}
	}
}
