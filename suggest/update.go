package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// A Given has the decisions of a policy.
type Given struct {
	// Text is that of its file, and Line finds the line of a key there, from one; 0 is none.
	Text string
	Line func(path ...string) int
	// Ways are those of its protected tables, in the order of the file, and Columns those that it lists of them.
	Protected []catalog.Name
	Ways      map[catalog.Name]Way
	Columns   map[catalog.Name][]string
	// Others are the public tables, the views, the references and the partitions that it lists.
	Public, Others []catalog.Name
	// Dated reports whether a table has, or would have, a default for dates.
	Dated func(catalog.Name) bool
	// References are its reference tables, which are among the others as well.
	References []catalog.Name
}

// Update proposes lines for tables and columns that a policy does not mention, not even in a comment. Lost are tables and columns that the
// policy has and the database lacks.
func Update(s *introspect.Survey, g Given) (edits []Edit, lost []string, err error) {
	ch := NewChoices(Service{})
	ch.Given = g.Ways
	for _, n := range g.Public {
		ch.Public[n] = true
	}
	for _, n := range g.References {
		ch.References[n] = true
	}
	unit := g.unit(s)
	ch.Unit, ch.UnitColumn = unit.Table, unit.Column
	if unit == (Place{}) {
		return nil, nil, fmt.Errorf("no table of the policy has the unit's column")
	}
	d, err := New(s, ch)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range d.listed() {
		for i := range t.Columns {
			if g.Dated(t.Source.Name) {
				t.Columns[i].forgetDates()
			}
		}
	}
	u := &updater{d: d, g: g}
	u.tables()
	u.columns()
	return u.edits, u.lost(), nil
}

// unit is the column of the policy that identifies whom it protects: that of a table with one row for each, where there is one.
func (g Given) unit(s *introspect.Survey) Place {
	var first Place
	for _, n := range g.Protected {
		t, column := s.Tables[n], g.Ways[n].Unit
		if t == nil || column == "" {
			continue
		}
		if first == (Place{}) {
			first = Place{n, column}
		}
		refers := slices.ContainsFunc(slices.Concat(t.Foreign, t.Loose), func(fk catalog.ForeignKey) bool {
			_, listed := g.Ways[fk.References]
			return listed && fk.References != n && slices.Contains(fk.Columns, column)
		})
		if unique(t, []string{column}) && !refers {
			return Place{n, column}
		}
	}
	return first
}

// An updater collects the edits of a policy file.
type updater struct {
	d     *Draft
	g     Given
	edits []Edit
}

// Mentions reports whether the policy has a table, or a comment of it.
func (g Given) Mentions(n catalog.Name) bool {
	if slices.Contains(g.Protected, n) || slices.Contains(g.Public, n) || slices.Contains(g.Others, n) {
		return true
	}
	for line := range strings.Lines(g.Text) {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
		comment = strings.TrimSpace(comment)
		if is && (strings.HasPrefix(comment, name(n)+":") || strings.HasPrefix(comment, oneLine(shortName(n))+":")) {
			return true
		}
	}
	return false
}

// tables adds the new tables after the last one of the file.
func (u *updater) tables() {
	only := map[catalog.Name]bool{}
	for _, n := range u.d.names {
		if !u.g.Mentions(n) {
			only[n] = true
		}
	}
	if len(only) == 0 {
		return
	}
	w := &writer{d: u.d, only: only}
	w.tables()
	last := 0
	for _, n := range slices.Concat(u.g.Protected, u.g.Public, u.g.Others) {
		last = max(last, u.g.Line("tables", n.String()))
	}
	if text := strings.TrimRight(w.b.String(), "\n"); text != "" {
		u.edits = append(u.edits, Edit{Line: u.endOf(last) + 1, Lines: strings.Split(text, "\n")})
	}
}

// endOf is the last line of the block that begins with a line: those behind it are further in.
func (u *updater) endOf(line int) int {
	lines := strings.Split(u.g.Text, "\n")
	depth := indentation(lines[line-1])
	for line < len(lines) && strings.TrimSpace(lines[line]) != "" && indentation(lines[line]) > depth {
		line++
	}
	return line
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// columns adds the new columns of the tables whose columns the file lists, after the last of them.
func (u *updater) columns() {
	for _, n := range u.g.Protected {
		t := u.d.Table(n)
		if t == nil || len(u.g.Columns[n]) == 0 {
			continue
		}
		last := 0
		for _, c := range u.g.Columns[n] {
			last = max(last, u.g.Line("tables", n.String(), "columns", c))
		}
		w := &writer{d: u.d}
		for i := range t.Columns {
			if c := &t.Columns[i]; !slices.Contains(u.g.Columns[n], c.Source.Name) {
				w.column(c)
			}
		}
		if w.b.Len() == 0 || last == 0 {
			continue
		}
		depth := indentation(strings.Split(u.g.Text, "\n")[last-1])
		var lines []string
		for line := range strings.Lines(w.b.String()) {
			lines = append(lines, strings.Repeat(" ", depth)+strings.TrimSpace(line))
		}
		u.edits = append(u.edits, Edit{Line: u.endOf(last) + 1, Lines: lines})
	}
}

// lost are the tables and columns of the policy that the database lacks, or may not be read.
func (u *updater) lost() []string {
	var all []string
	for _, n := range slices.Concat(u.g.Protected, u.g.Public) {
		r := u.d.rels[n]
		if r == nil {
			all = append(all, oneLine(shortName(n)))
			continue
		}
		for _, c := range u.g.Columns[n] {
			if r.field(c) == nil {
				all = append(all, oneLine(shortName(n)+"."+c))
			}
		}
	}
	return all
}

// given are the ways that a policy has, of tables that the database still has.
func (d *Draft) given(r *relation) (w Way, ok bool) {
	w, ok = d.choices.Given[r.Name]
	return w, ok && (w.Unit != "" || d.Table(w.To) != nil)
}
