package mirror

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// A Change is one difference between a relation of the real database and the form of it that was confirmed.
type Change struct {
	// Text says what has changed, to the administrator.
	Text string
	// Told says it to analysts; empty where it is about something that the mirror does not show.
	Told string
	// Takes says that something is gone that proofs or analysts may rely on: only an administrator can say
	// that it may be so. Other changes take effect with the next Sync.
	Takes bool
}

// Changes returns how a relation of the plan differs from its confirmed form, nil if no proof can tell: what has
// come since proves nothing.
func (p Plan) Changes(n catalog.Name, was, has *catalog.Schema) []Change {
	before, now := was.Tables[n], has.Tables[n]
	if before == nil {
		return []Change{{Text: "the policy has it, and there was no sync since", Told: "it is new in the policy", Takes: false}}
	}
	if now == nil {
		return []Change{{Text: "it is gone, or dpproxy's role may not see it", Told: "it is gone", Takes: true}}
	}
	if now.OID == before.OID && now.Fingerprint == before.Fingerprint {
		return nil
	}
	d := &differences{hidden: p.hidden(n, before, now), was: was, has: has}
	d.relation(before, now)
	d.columns(before, now)
	d.keys(before, now)
	d.checks(before, now)
	d.foreign(before, now)
	d.labels(before)
	known := introspect.Told(before.Fingerprint) && !olderForm(before, now, has)
	switch {
	case !known && len(d.found) == 0:
		d.add(false, nil, "an older dpproxy confirmed it")
	case known && !d.takes() && (len(d.found) == 0 || introspect.Links(before.Fingerprint) != introspect.Links(now.Fingerprint)):
		d.add(true, nil, "its row security, rules, storage or links to other tables are others")
	}
	return d.found
}

// olderForm reports whether a relation was confirmed when fingerprints said less of partitions.
func olderForm(before, now *catalog.Table, has *catalog.Schema) bool {
	partitioned := func(f catalog.ForeignKey) bool {
		to := has.Tables[f.References]
		return to != nil && to.Kind == 'p'
	}
	return before.Stored == nil && (now.Kind == 'p' || slices.ContainsFunc(slices.Concat(now.Foreign, now.Loose), partitioned))
}

// differences collects the changes of one relation.
type differences struct {
	hidden   []string // columns that the mirror does not have
	was, has *catalog.Schema
	found    []Change
}

// add notes a change that is about columns. Nothing is told of hidden ones.
func (d *differences) add(takes bool, columns []string, format string, args ...any) {
	c := Change{Text: fmt.Sprintf(format, args...), Takes: takes}
	if !anyOf(columns, d.hidden) {
		c.Told = c.Text
	}
	d.found = append(d.found, c)
}

// secret notes a change of which analysts are told less.
func (d *differences) secret(takes bool, told, format string, args ...any) {
	d.found = append(d.found, Change{Text: fmt.Sprintf(format, args...), Told: told, Takes: takes})
}

// takes reports whether one of the changes takes something.
func (d *differences) takes() bool {
	return slices.ContainsFunc(d.found, func(c Change) bool { return c.Takes })
}

func (d *differences) relation(was, has *catalog.Table) {
	switch {
	case was.OID != has.OID && was.OID != 0:
		d.add(true, nil, "it is another table of that name")
	case was.Kind != has.Kind:
		d.add(true, nil, "it is another kind of relation")
	}
	if has.RowSecurity && !was.RowSecurity {
		d.secret(true, "its row security", "row security applies to dpproxy's role: grant it BYPASSRLS, or drop the policies")
	}
	if was.View != has.View {
		d.secret(true, "its query", "the query of the view is another")
	}
	if !slices.Equal(was.Parents, has.Parents) {
		d.secret(true, "the table that it is a part of", "it is a part of %s, and was of %s", list(has.Parents), list(was.Parents))
	}
	if more := without(has.Children, was.Children); len(more) > 0 {
		d.secret(has.Kind != 'p', "its partitions", "it has %s more: %s", part(has), list(more))
	}
	if less := without(was.Children, has.Children); len(less) > 0 {
		d.secret(has.Kind != 'p', "its partitions", "%s of it is gone: %s", part(has), list(less))
	}
}

func part(t *catalog.Table) string {
	if t.Kind == 'p' {
		return "a partition"
	}
	return "a table that inherits from it"
}

func list(names []catalog.Name) string {
	if len(names) == 0 {
		return "none"
	}
	var texts []string
	for _, n := range names {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, ", ")
}

func without(names, others []catalog.Name) []catalog.Name {
	return slices.DeleteFunc(slices.Clone(names), func(n catalog.Name) bool { return slices.Contains(others, n) })
}

// columns compares those that were there. One that is dropped takes nothing that a proof needs where the policy still
// fits: it can be asked about no more. One that is renamed takes what the policy says of either name.
func (d *differences) columns(was, has *catalog.Table) {
	d.renamed(was, has)
	for _, w := range was.Columns {
		of := []string{w.Name}
		h, there := has.Column(w.Name)
		if !there {
			if !renamedTo(w, has) {
				d.add(false, of, "column %s is gone", w.Name)
			}
			continue
		}
		if w.Type.Display != h.Type.Display || w.Type.OID != h.Type.OID {
			d.add(!widened(w.Type, h.Type), of, "column %s was %s, and is %s", w.Name, w.Type.Display, h.Type.Display)
		}
		if w.Collation != h.Collation || w.Deterministic != h.Deterministic {
			d.add(true, of, "column %s has another collation", w.Name)
		}
		switch {
		case w.NotNull && !h.NotNull:
			d.add(true, of, "column %s may be NULL by now", w.Name)
		case !w.NotNull && h.NotNull:
			d.add(false, of, "column %s is NOT NULL by now", w.Name)
		}
		if w.Generated != h.Generated || w.Virtual != h.Virtual {
			d.add(true, of, "column %s is generated in another way", w.Name)
		}
	}
}

// renamed notes columns that have another name than they had.
func (d *differences) renamed(was, has *catalog.Table) {
	for _, w := range was.Columns {
		for _, h := range has.Columns {
			if h.Number == w.Number && w.Number != 0 && h.Name != w.Name {
				d.add(true, []string{w.Name, h.Name}, "column %s is named %s by now", w.Name, h.Name)
			}
		}
		if h, there := has.Column(w.Name); there && h.Number != w.Number && w.Number != 0 && !renamedTo(w, has) {
			d.add(true, []string{w.Name}, "column %s is another one of that name", w.Name)
		}
	}
}

// renamedTo reports whether a column is there under another name.
func renamedTo(w catalog.Column, has *catalog.Table) bool {
	renamed := func(h catalog.Column) bool { return h.Number == w.Number && h.Name != w.Name }
	return w.Number != 0 && slices.ContainsFunc(has.Columns, renamed)
}

func (d *differences) keys(was, has *catalog.Table) {
	for _, w := range was.Keys {
		if !slices.ContainsFunc(has.Keys, func(k catalog.Key) bool { return slices.Equal(k.Columns, w.Columns) }) {
			d.add(true, w.Columns, "the key (%s) is gone, or is not valid any more", strings.Join(w.Columns, ", "))
		}
	}
}

// checks compares the CHECK constraints. They say which rows no answer leaves out, and bound nothing: the next Sync takes it that one is
// gone. Analysts are not told which, since its text can hold values.
func (d *differences) checks(was, has *catalog.Table) {
	const gone = "a CHECK is gone, another, or not valid any more: "
	for _, w := range was.Checks {
		if !slices.ContainsFunc(has.Checks, func(c catalog.Check) bool { return c.Expr == w.Expr }) {
			d.secret(false, "its CHECK constraints", gone+"%s", w.Expr)
		}
	}
	for _, w := range was.Columns {
		h, there := has.Column(w.Name)
		for _, x := range w.Checks {
			if there && !slices.Contains(h.Checks, x) {
				d.secret(false, "its CHECK constraints", gone+"%s of the domain of column %s", x, w.Name)
			}
		}
	}
}

func (d *differences) foreign(was, has *catalog.Table) {
	in := func(all []catalog.ForeignKey, f catalog.ForeignKey) bool { return slices.ContainsFunc(all, f.Same) }
	for _, f := range slices.Concat(was.Foreign, was.Loose) {
		text := fmt.Sprintf("the foreign key (%s) to %s", strings.Join(f.Columns, ", "), f.References)
		switch {
		case !in(slices.Concat(has.Foreign, has.Loose), f):
			d.link(true, f, text+" is gone")
		case in(was.Foreign, f) && !in(has.Foreign, f):
			d.link(true, f, text+" does not hold any more: its triggers are off, or it is not valid")
		}
	}
	for _, f := range slices.Concat(has.Foreign, has.Loose) {
		if !in(slices.Concat(was.Foreign, was.Loose), f) {
			d.link(false, f, fmt.Sprintf("it has a foreign key more, (%s) to %s", strings.Join(f.Columns, ", "), f.References))
		}
	}
}

// link notes a change of a foreign key; relations that the policy lacks are not told.
func (d *differences) link(takes bool, f catalog.ForeignKey, text string) {
	if d.was.Tables[f.References] == nil {
		d.secret(takes, "its foreign keys", "%s", text)
		return
	}
	d.add(takes, f.Columns, "%s", text)
}

// labels compares the types that users made of the relation's columns.
func (d *differences) labels(was *catalog.Table) {
	for _, c := range was.Columns {
		before, now := d.was.Types[c.Type.Name], d.has.Types[c.Type.Name]
		if before == nil || now == nil {
			continue
		}
		told := fmt.Sprintf("the type of column %s", c.Name)
		if slices.Contains(d.hidden, c.Name) {
			told = ""
		}
		rest := slices.DeleteFunc(slices.Clone(now.Labels), func(l string) bool { return !slices.Contains(before.Labels, l) })
		if !slices.Equal(rest, before.Labels) {
			d.secret(true, told, "labels of the type %s, of column %s, are gone or others", c.Type.Name, c.Name)
		} else if len(now.Labels) > len(before.Labels) {
			d.secret(false, told, "the type %s, of column %s, has more labels, %d", c.Type.Name, c.Name, len(now.Labels)-len(before.Labels))
		}
		if before.NotNull != now.NotNull || before.Base.Display != now.Base.Display {
			d.secret(true, told, "the domain %s, of column %s, is another", c.Type.Name, c.Name)
		}
	}
}

// widths are the types of which each holds all values of those before it.
var widths = [][]string{
	{"int2", "int4", "int8", "numeric"},
	{"float4", "float8"},
	{"varchar", "text"},
}

// widened reports whether a type has all values of another, written and compared as there.
func widened(was, has catalog.TypeRef) bool {
	if was.Name == has.Name {
		switch was.Name.Name {
		case "varchar":
			return has.Mod < 0 || was.Mod >= 0 && has.Mod >= was.Mod
		case "numeric":
			return has.Mod < 0 || was.Mod >= 0 && scale(has.Mod) == scale(was.Mod) && precision(has.Mod) >= precision(was.Mod)
		}
		return false
	}
	const builtin = "pg_catalog"
	if was.Name.Schema != builtin || has.Name.Schema != builtin || has.Mod >= 0 {
		return false
	}
	return slices.ContainsFunc(widths, func(w []string) bool {
		i, j := slices.Index(w, was.Name.Name), slices.Index(w, has.Name.Name)
		return i >= 0 && i < j
	})
}

// precision and scale are the parts of the modifier of a numeric (numeric.c).
func precision(mod int32) int32 { return (mod - 4) >> 16 }
func scale(mod int32) int32     { return (mod - 4) & 0x7ff }
