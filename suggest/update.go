package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// A Given is a policy with its decisions.
type Given struct {
	// Text is the text of its file. Line returns the line of a key in it, from one, or 0.
	Text string
	Line func(path ...string) int
	// Brace returns the line and the column, from one, of the { of a mapping in {...}, or 0. GoesOn reports whether a line is a
	// continuation within braces or brackets.
	Brace  func(path ...string) (line, column int)
	GoesOn func(line int) bool
	// Protected are the protected tables in the order of the file, and Ways their ways. Columns are the columns that the file lists for
	// protected and reference tables.
	Protected []catalog.Name
	Ways      map[catalog.Name]Way
	Columns   map[catalog.Name][]string
	// Others are the public tables, views, references and partitions that it lists.
	Public, Others []catalog.Name
	// Dated reports whether a table has, or would have, a default for dates.
	Dated func(catalog.Name) bool
	// References are the reference tables, which are among Others too.
	References []catalog.Name
}

// Update proposes lines for tables and columns that a policy does not mention, not even in a comment. lost are tables and columns of the
// policy that the database lacks.
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
	u := &updater{d: d, g: g, lines: strings.Split(g.Text, "\n")}
	u.columns()
	if err := u.tables(); err != nil {
		return nil, nil, err
	}
	return u.edits, u.lost(), nil
}

// unit returns the column of the policy that identifies whom it protects, if possible in a table with one row for each unit.
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
	lines []string // of the file
	edits []Edit
}

// Mentions reports whether the policy has a table, or a comment that begins with its name.
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

// tables adds the new tables after the last table of the file.
func (u *updater) tables() error {
	only := map[catalog.Name]bool{}
	for _, n := range u.d.names {
		if !u.g.Mentions(n) {
			only[n] = true
		}
	}
	if len(only) == 0 {
		return nil
	}
	w := &writer{d: u.d, only: only}
	w.tables()
	last := 0
	for _, n := range slices.Concat(u.g.Protected, u.g.Public, u.g.Others) {
		last = max(last, u.g.Line("tables", n.String()))
	}
	text := strings.TrimRight(w.b.String(), "\n")
	if text == "" {
		return nil
	}
	if line, _ := u.g.Brace("tables"); line > 0 {
		return fmt.Errorf("line %d: new tables cannot be proposed where all tables stand in {...}: give each table a line of its own", line)
	}
	depth := strings.Repeat(" ", indentation(u.lines[last-1]))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if after, indented := strings.CutPrefix(line, "  "); indented {
			lines[i] = depth + after
		}
	}
	u.edits = append(u.edits, Edit{Line: u.endOf(last) + 1, Lines: lines})
	return nil
}

// endOf returns the last line of the block that begins at a line: the following lines that are indented further, or continue within braces.
func (u *updater) endOf(line int) int {
	depth := indentation(u.lines[line-1])
	inside := func(next string) bool { return strings.TrimSpace(next) != "" && indentation(next) > depth }
	for line < len(u.lines) && (u.g.GoesOn(line+1) || inside(u.lines[line])) {
		line++
	}
	return line
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// columns adds the new columns of the tables whose columns the file lists.
func (u *updater) columns() {
	braced := map[int][]inBraces{}
	for _, t := range u.d.listed() {
		n := t.Source.Name
		listed := u.g.Columns[n]
		if len(listed) == 0 {
			continue
		}
		added := slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return slices.Contains(listed, c.Source.Name) })
		if len(added) == 0 {
			continue
		}
		if line, column := u.g.Brace("tables", n.String(), "columns"); line > 0 {
			braced[line] = append(braced[line], inBraces{column, added})
		} else {
			u.below(n, added)
		}
	}
	for line, all := range braced {
		u.within(line, all)
	}
}

// below adds columns after the last column that has its own line.
func (u *updater) below(n catalog.Name, columns []Column) {
	last := 0
	for _, c := range u.g.Columns[n] {
		last = max(last, u.g.Line("tables", n.String(), "columns", c))
	}
	if last == 0 {
		return
	}
	depth := strings.Repeat(" ", indentation(u.lines[last-1]))
	var lines []string
	for _, c := range columns {
		lines = append(lines, depth+c.written()+c.noted())
	}
	u.edits = append(u.edits, Edit{Line: u.endOf(last) + 1, Lines: lines})
}

// inBraces are new columns for a mapping in {...}, with the column of its brace in the line.
type inBraces struct {
	at      int
	columns []Column
}

// within inserts the columns at the beginning of their braces, each on its own line, since its comment extends to the end of the line.
func (u *updater) within(line int, all []inBraces) {
	slices.SortFunc(all, func(a, b inBraces) int { return a.at - b.at })
	text := []rune(u.lines[line-1])
	depth := strings.Repeat(" ", indentation(u.lines[line-1])+2)
	var lines []string
	head, done := "", 0
	for _, in := range all {
		lines = append(lines, head+string(text[done:in.at]))
		for _, c := range in.columns {
			lines = append(lines, depth+c.written()+","+c.noted())
		}
		head, done = depth, in.at
	}
	rest := strings.TrimLeft(string(text[done:]), " ")
	u.edits = append(u.edits, Edit{Line: line, Drop: 1, Lines: slices.Concat(lines, []string{depth + rest})})
}

// lost returns the tables and columns of the policy that the database lacks, or that may not be read.
func (u *updater) lost() []string {
	var all []string
	for _, n := range slices.Concat(u.g.Protected, u.g.Public, u.g.References) {
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

// given returns the way that a policy has for a table, if its target still exists.
func (d *Draft) given(r *relation) (w Way, ok bool) {
	w, ok = d.choices.Given[r.Name]
	return w, ok && (w.Unit != "" || d.Table(w.To) != nil)
}
