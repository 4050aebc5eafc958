package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// YAML writes the policy, with a comment for each open question.
func (d *Draft) YAML() string {
	w := &writer{d: d}
	w.head()
	w.line(0, "")
	w.line(0, "tables:")
	w.tables()
	w.analyst()
	return w.b.String()
}

type writer struct {
	d *Draft
	b strings.Builder
	// only are the tables that are written; nil is all.
	only map[catalog.Name]bool
}

// tables writes the tables: first the unit's, references after views, and then tables that are left out.
func (w *writer) tables() {
	for _, t := range w.d.Tables {
		if w.writes(t.Source.Name) {
			w.table(t)
		}
	}
	for _, n := range w.of(w.d.Views) {
		w.line(1, "%s: {view: true}", name(n))
	}
	for _, n := range w.of(w.d.Public) {
		w.line(1, "%s: {public: true}", name(n))
	}
	w.references()
	w.clear()
	w.asked()
	w.leftOut()
}

func (w *writer) writes(n catalog.Name) bool { return w.only == nil || w.only[n] }

// of returns the names that are written.
func (w *writer) of(all []catalog.Name) []catalog.Name {
	return slices.DeleteFunc(slices.Clone(all), func(n catalog.Name) bool { return !w.writes(n) })
}

func (w *writer) line(depth int, format string, args ...any) {
	w.b.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+fmt.Sprintf(format, args...), " ") + "\n")
}

func (w *writer) head() {
	s := w.d.choices.Service
	w.line(0, "# A first policy for the database %s, from its catalogue alone: dpproxy has read no row. What this file says",
		oneLine(w.d.Database))
	w.line(0, "# is what is protected: read it line by line. Tables and columns that it does not list do not exist for analysts.")
	if w.d.anyUnbounded() {
		w.line(0, "# bounds: ? is at columns of which nobody has said between which values they are in nearly all rows. Percentiles,")
		w.line(0, "# variance, min and max need bounds, groups of times as well, and sums and averages of fractions need them or a step:")
		w.line(0, "# dpproxy suggest --bounds asks.")
	}
	w.line(0, "")
	w.line(0, "listen: %s", scalar(s.Listen))
	w.line(0, "data: %s", scalar(s.Data))
	w.line(0, "# A Postgres of its own, for what analysts may see; it gets none of the protected rows.")
	w.line(0, "mirror: %s", scalar(s.Mirror))
	w.line(0, "ledger: {dir: %s}", scalar(s.Ledger))
	w.line(0, "")
	w.line(0, "# The guarantee: what all analysts together may ever learn of one %s.", oneLine(w.d.UnitName))
	w.line(0, "privacy_unit:")
	w.line(1, "name: %s", scalar(w.d.UnitName))
	w.line(1, "# units: ? about how many there are, if everybody may know; say it where they are few")
	w.line(1, "budget: {epsilon: %s, delta: 1e-6}", w.d.choices.Epsilon)
	w.line(0, "")
	w.line(0, "# Columns that protected and reference tables do not list are hidden, new ones as well. Public tables show all of theirs.")
	w.line(0, "unlisted: hidden")
	w.dates()
}

// anyUnbounded reports whether a column has no bounds and could have some.
func (d *Draft) anyUnbounded() bool {
	return slices.ContainsFunc(d.listed(), func(t *Table) bool {
		return slices.ContainsFunc(t.Columns, func(c Column) bool { return strings.HasPrefix(c.Note, unbounded) })
	})
}

func (w *writer) table(t *Table) {
	n := t.Source.Name
	if n == w.d.Unit.Table && t.Unit == w.d.Unit.Column {
		w.line(1, "# Whom to protect: %s.", w.d.Unit.Explained())
	}
	w.line(1, "%s:", name(n))
	mark := ""
	if t.ByName {
		mark = " # by its name alone"
	}
	w.line(2, "unit: %s%s", t.String(), mark)
	if ends := w.d.nobody(t); ends != "" {
		w.line(2, "# Rows that belong to no %s are left out of every answer: %s.", oneLine(w.d.UnitName), oneLine(ends))
		if countable(t) {
			w.line(2, "# nobody: rows would count them: of each the row is protected, not a person.")
		}
	}
	if !t.OnePerUnit {
		w.line(2, "max_rows_per_group: auto")
	}
	w.besides(t)
	if len(t.Source.Children) > 0 {
		w.line(2, "# partitions: ? analysts may ask about the whole; name those that they may ask about alone: [%s]",
			firstOf(t.Source.Children))
	}
	w.line(2, "columns:")
	for i := range t.Columns {
		w.column(&t.Columns[i])
	}
}

func (w *writer) column(c *Column) {
	w.line(3, "%s%s", c.written(), c.noted())
}

// written is a column as a policy writes it, and noted the comment after it.
func (c *Column) written() string { return scalar(c.Source.Name) + ": " + c.Policy }

func (c *Column) noted() string {
	if c.Note == "" {
		return ""
	}
	return " # " + oneLine(c.Note)
}

// besides writes the columns that refer to others, and the columns that are taken for references to rows of the same person.
func (w *writer) besides(t *Table) {
	if len(t.Refers) > 0 {
		var all []string
		why := "by their names alone"
		for _, r := range t.Refers {
			all = append(all, scalar(r.Column)+": "+scalar(shortName(r.To)))
			if w.d.Table(r.To) != nil {
				why = "by name alone: dpproxy check --data tells whether it holds"
			}
		}
		w.line(2, "refers: {%s} # %s", strings.Join(all, ", "), why)
	}
	if len(t.NotProtected) > 0 {
		w.line(2, "not_protected: [%s] # a row protects one %s, and not who is behind %s", strings.Join(quoted(t.NotProtected), ", "),
			oneLine(w.d.UnitName), list(slices.Clone(t.NotProtected)))
	}
	if len(t.SamePerson) > 0 {
		w.line(2, "# Joins by %s keep only pairs of one %s. If you know that there are no others: same_unit: [%s]",
			list(slices.Clone(t.SamePerson)), oneLine(w.d.UnitName), oneLine(strings.Join(quoted(t.SamePerson), ", ")))
	}
}

// String writes a way as a policy writes it.
func (w Way) String() string {
	switch {
	case w.Unit != "":
		return scalar(w.Unit)
	case len(w.Via) > 1:
		return fmt.Sprintf("{via: [%s], to: %s}", strings.Join(quoted(w.Via), ", "), scalar(shortName(w.To)))
	}
	return fmt.Sprintf("{via: %s, to: %s}", scalar(w.Via[0]), scalar(shortName(w.To)+"."+w.At[0]))
}

func firstOf(names []catalog.Name) string {
	var list []string
	for _, n := range names[:min(len(names), 3)] {
		list = append(list, oneLine(shortName(n)))
	}
	if len(names) > 3 {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// references writes the tables to which protected rows refer and whose rows belong to nobody in particular.
func (w *writer) references() {
	all := slices.DeleteFunc(slices.Clone(w.d.References), func(o Outside) bool { return !w.writes(o.Table) })
	if len(all) == 0 {
		return
	}
	w.line(0, "")
	w.line(1, "# Protected rows refer to these, whose rows are nobody's in particular: they are joined by that, and never listed. A row to")
	w.line(1, "# which one %s's rows alone refer is protected as they are; one that is shared is not.", oneLine(w.d.UnitName))
	for _, o := range all {
		w.line(1, "%s: # %s", name(o.Table), oneLine(o.Why))
		w.line(2, "reference: true")
		w.besides(o.As)
		w.line(2, "columns:")
		for i := range o.As.Columns {
			w.column(&o.As.Columns[i])
		}
	}
}

func (w *writer) clear() {
	all := w.of(w.d.Clear)
	if len(all) == 0 {
		return
	}
	w.line(0, "")
	w.line(1, "# Nothing in these could lead to a %s. The rows of a public table are copied to the mirror, for all analysts to read.",
		oneLine(w.d.UnitName))
	w.line(1, "# Are they nobody's secret? Then take the # away.")
	for _, n := range all {
		w.line(1, "# %s: {public: true}", name(n))
	}
}

// asked writes each possible way of a table in question, with the reason for the doubt.
func (w *writer) asked() {
	all := slices.DeleteFunc(slices.Clone(w.d.Asked), func(q Question) bool { return !w.writes(q.Table) })
	if len(all) == 0 {
		return
	}
	w.line(0, "")
	w.line(1, "# Left out until you decide: take the # of one line away, if what it says is right. Below a unit, list the columns.")
	for _, q := range all {
		for i, way := range q.Ways {
			w.line(1, "# %s: {unit: %s%s} # ? %s", name(q.Table), way.String(), others(q.Beside[i]), oneLine(q.Reason))
		}
		if q.Ways == nil {
			w.line(1, "# %s: {public: true} # ? %s", name(q.Table), oneLine(q.Reason))
		}
	}
}

// others writes columns that refer to people whom a row does not protect.
func others(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	return fmt.Sprintf(", not_protected: [%s]", strings.Join(quoted(columns), ", "))
}

func (w *writer) leftOut() {
	var lines []string
	add := func(n catalog.Name, why string) {
		if why != "" && w.writes(n) {
			lines = append(lines, oneLine(shortName(n)+": "+why))
		}
	}
	for n, why := range w.d.LeftOut {
		add(n, why)
	}
	for _, o := range slices.Concat(w.d.Others, w.d.Theirs) {
		add(o.Table, o.Why)
	}
	for _, n := range w.d.Unreadable {
		add(n, "the role may not read it (GRANT SELECT)")
	}
	if lines == nil {
		return
	}
	slices.Sort(lines)
	w.line(0, "")
	w.line(1, "# Left out:")
	for _, l := range lines {
		w.line(1, "# %s", l)
	}
}

func (w *writer) analyst() {
	s := w.d.choices.Service
	var names []string
	for _, t := range w.d.listed() {
		names = append(names, scalar(shortName(t.Source.Name)))
	}
	for _, n := range w.d.Views {
		names = append(names, scalar(shortName(n)))
	}
	w.line(0, "")
	mark, analyst, verifier := "# ", "ana", "SCRAM-SHA-256$..."
	if s.Analyst != "" {
		mark, analyst, verifier = "", scalar(s.Analyst), scalar(s.Verifier)
	} else {
		w.line(0, "# Nobody can log in yet: dpproxy verifier makes what stands for a password here.")
	}
	w.line(0, "%sanalysts:", mark)
	w.line(0, "%s  %s:", mark, analyst)
	w.line(0, "%s    password: %s", mark, verifier)
	w.line(0, "%s    tables: [%s]", mark, strings.Join(names, ", "))
}
