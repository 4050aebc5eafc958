package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/suggest/words"
)

// A summary describes a draft to people who read it before its file.
type summary struct{ *Draft }

// Summary describes the draft in at most fifteen lines; next are the commands to run next.
func (d *Draft) Summary(next string) string { return summary{d}.text(next) }

func (d summary) text(next string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d tables, no row read.\n", oneLine(d.Database), d.countTables())
	line := func(subject, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s %s\n", subject, shorten(fmt.Sprintf(format, args...)))
	}
	own := 0
	for _, t := range d.Tables {
		if t.Unit != "" {
			own++
		}
	}
	line("Person", "%s", d.Unit.Explained())
	line("Protected", "%d: %d by a column of their own, %d by what they refer to", len(d.Tables), own, len(d.Tables)-own)
	if all := d.byName(); all != nil {
		line("By name", "%d: %s: no foreign key", len(all), strings.Join(all, ", "))
	}
	if all := d.columnsOf(func(t *Table) []string { return t.SamePerson }); all != nil {
		line("Same person", "%s: joins keep only pairs of one %s", strings.Join(all, ", "), oneLine(d.UnitName))
	}
	if all := d.columnsOf(func(t *Table) []string { return t.NotProtected }); all != nil {
		line("Unprotected", "%s", strings.Join(all, ", "))
	}
	if all := tablesOf(d.References); all != nil {
		line("References", "%s: joined, never listed", shortNames(all))
	}
	if all := tablesOf(d.Others); all != nil {
		with := ""
		if theirs := tablesOf(d.Theirs); theirs != nil {
			with = ", with " + shortNames(theirs)
		}
		line("Other people", "%s: left out%s", shortNames(all), with)
	}
	line("Public", "%s", d.publicly())
	if len(d.Asked) > 0 {
		line("Asked", "%d: %s: left out until you decide", len(d.Asked), shortNames(questioned(d.Asked)))
	}
	if all := d.tenants(); all != nil {
		line("Tenants", "%s: a plain key; if their own figures are secret, make it the unit", strings.Join(all, ", "))
	}
	if all := d.deleted(); all != nil {
		line("Deleted", "%s: rows that are only marked so count, and are protected", strings.Join(all, ", "))
	}
	line("Hidden", "%s", d.hiddenColumns())
	if all := d.schemas(); all != nil {
		line("Schemas", "%s: statements name their tables with the schema, or after SET search_path", strings.Join(all, ", "))
	}
	line("Next", "%s", next)
	return b.String()
}

// longestLine is the length of a line of a summary, in bytes of UTF-8.
const longestLine = 160

// shorten ends a long line at a comma, and marks that there is more.
func shorten(s string) string {
	if len(s) <= longestLine {
		return s
	}
	end := ""
	if i := strings.LastIndex(s, ": "); i > longestLine/2 {
		end = s[i:]
	}
	if i := strings.LastIndex(s[:longestLine], ", "); i > 0 {
		return s[:i] + ", ..." + end
	}
	return s
}

func (d summary) countTables() (n int) {
	for _, name := range d.names {
		if d.rels[name].Kind != 'v' {
			n++
		}
	}
	return n
}

// byName returns the columns that lead to another row by their names alone.
func (d summary) byName() []string {
	return d.columnsOf(func(t *Table) (all []string) {
		if t.ByName {
			all = append(all, t.columns()...)
		}
		for _, r := range t.Refers {
			all = append(all, r.Column)
		}
		return all
	})
}

// columnsOf writes columns of all tables as TABLE.COLUMN.
func (d summary) columnsOf(of func(*Table) []string) []string {
	var all []string
	for _, t := range d.Tables {
		for _, c := range of(t) {
			all = append(all, oneLine(shortName(t.Source.Name)+"."+c))
		}
	}
	return all
}

func tablesOf(all []Outside) []catalog.Name {
	var names []catalog.Name
	for _, o := range all {
		names = append(names, o.Table)
	}
	return names
}

func questioned(all []Question) []catalog.Name {
	var names []catalog.Name
	for _, q := range all {
		names = append(names, q.Table)
	}
	return names
}

func (d summary) publicly() string {
	said := "none"
	if len(d.Public) > 0 {
		said = shortNames(d.Public)
	}
	switch n := len(d.Clear); n {
	case 0:
	case 1:
		said += "; 1 more could be: --public=clear"
	default:
		said += fmt.Sprintf("; %d could be: --public=clear", n)
	}
	return said
}

// tenants returns the columns of protected tables that refer to tenants.
func (d summary) tenants() []string {
	return d.columnsOf(func(t *Table) (all []string) {
		for _, f := range d.rels[t.Source.Name].fields {
			if st := f.stem(); f.Name != t.Unit && f.numbers() && len(st) > 0 && words.Is(last(st), words.Tenant) {
				all = append(all, f.Name)
			}
		}
		return all
	})
}

// deleted returns the columns of protected tables that mark rows as deleted.
func (d summary) deleted() []string {
	return d.columnsOf(func(t *Table) (all []string) {
		for _, f := range d.rels[t.Source.Name].fields {
			if words.Has(f.words, words.Deleted) && !f.foreign && !words.Is(last(f.words), "by") {
				all = append(all, f.Name)
			}
		}
		return all
	})
}

// schemas returns the schemas of the policy's tables other than public, which statements need not name.
func (d summary) schemas() (all []string) {
	for _, t := range d.listed() {
		if s := t.Source.Name.Schema; s != "public" && !slices.Contains(all, oneLine(s)) {
			all = append(all, oneLine(s))
		}
	}
	slices.Sort(all)
	return all
}

// hiddenColumns counts hidden columns by kind.
func (d summary) hiddenColumns() string {
	counts, total, columns := map[string]int{}, 0, 0
	for _, t := range d.listed() {
		for i := range t.Columns {
			columns++
			if c := &t.Columns[i]; c.kind != "" {
				counts[c.kind]++
				total++
			}
		}
	}
	var parts []string
	for _, k := range []string{ofNames, ofContacts, ofNumbers, ofSecrets, ofTraces, ofFreeText, ofDocuments, ofOthers, ofRest} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
		}
	}
	said := fmt.Sprintf("%d of %d columns", total, columns)
	if parts != nil {
		said += ": " + strings.Join(slices.Clip(parts), ", ")
	}
	return said
}
