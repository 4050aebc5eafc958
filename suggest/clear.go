package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// Bounds of clear cases.
const (
	// nearScore is the distance in score within which a candidate is a rival of the first.
	nearScore = 6
	// clearPoints, or clearLeading tables that lead there, are enough evidence.
	clearPoints, clearLeading = 6, 2
	// shown is the largest number of candidates that are listed.
	shown = 9
)

// An UnclearError says that the catalogue does not determine whom to protect.
type UnclearError struct{ Candidates []Candidate }

// Error lists the candidates, and the options of the command that choose one.
func (e *UnclearError) Error() string {
	var b strings.Builder
	b.WriteString("the catalogue does not say clearly whom to protect. Nothing was written.\n")
	var units []string
	for i, a := range e.Candidates {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, a.Explained())
		units = append(units, "--unit="+a.choice())
	}
	b.WriteString("Say " + strings.Join(units, " or ") + ".")
	return b.String()
}

// choice names the candidate on the command line: by its table if the column is the key.
func (a *Candidate) choice() string {
	if a.rowless || a.doubt != "" {
		return a.Name()
	}
	return oneLine(shortName(a.Table))
}

// Name is TABLE.COLUMN.
func (a *Candidate) Name() string { return oneLine(shortName(a.Table) + "." + a.Column) }

// Explained says why the candidate may identify whom to protect.
func (a *Candidate) Explained() string { return a.Name() + ": " + a.reasons() }

func (a *Candidate) reasons() string {
	var parts []string
	if a.called != "" && !a.rowless {
		parts = append(parts, "called "+a.called)
	}
	if a.rowless {
		parts = append(parts, "names a person, no table has a row for each")
	}
	if len(a.evidence) > 0 {
		parts = append(parts, oneLine(strings.Join(a.evidence, ", ")))
	}
	parts = append(parts, tablesLead(a.Leading))
	if a.doubt != "" {
		parts = append(parts, oneLine(a.doubt))
	}
	return strings.Join(parts, "; ")
}

func tablesLead(n int) string {
	switch n {
	case 0:
		return "no table leads there"
	case 1:
		return "a table leads there"
	}
	return fmt.Sprintf("%d tables lead there", n)
}

// contenders returns the candidates that can be meant: the first, and candidates of its class with a score close to it, unless they only
// say more about the same people. A single contender is clear if there is enough evidence for it.
func (c *catalogue) contenders(all []Candidate) (near []Candidate, isClear bool) {
	first := c.whole(all)
	near = append(near, first)
	for _, a := range all {
		if a.Table == first.Table && a.Column == first.Column {
			continue
		}
		same := a.Table == first.Table && a.class == first.class
		rival := a.class == first.class && !a.part && first.score-a.score < nearScore && !c.refersTo(a.Table, first.Table)
		above := a.class == unclassed && !a.part && c.refersTo(first.Table, a.Table)
		if (same || rival || above) && len(near) < shown {
			near = append(near, a)
		}
	}
	enough := first.points >= clearPoints || first.Leading >= clearLeading
	return near, len(near) == 1 && enough && first.doubt == "" && !first.rowlessAlone()
}

// rowlessAlone reports whether only the name of a column speaks for a candidate.
func (a *Candidate) rowlessAlone() bool {
	return a.rowless && a.Leading < clearLeading && len(a.evidence) == 0
}

// whole returns the candidate to which the first refers as to its whole, as users to persons, if the scores are close; otherwise the first.
func (c *catalogue) whole(all []Candidate) Candidate {
	first := all[0]
	for _, a := range all[1:] {
		near := a.class == first.class && !a.part && first.score-a.score < nearScore
		if near && c.refersTo(first.Table, a.Table) && !c.refersTo(a.Table, first.Table) {
			return a
		}
	}
	return first
}

// refersTo reports whether a table has a foreign key to another that is named after the rows or the key of the other. A reference to who
// created a row is not such a key.
func (c *catalogue) refersTo(from, to catalog.Name) bool {
	r, other := c.rels[from], c.rels[to]
	return from != to && slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool {
		if fk.References != to {
			return false
		}
		f := r.field(fk.Columns[0])
		return slices.Contains(r.key(), f.Name) || f.calls(other, other.field(fk.Target[0]))
	})
}

// unitChosen returns the candidate with a given name: one of the list, or another column that can identify people.
func (c *catalogue) unitChosen(all []Candidate, table catalog.Name, column string) (Candidate, error) {
	i := slices.IndexFunc(all, func(a Candidate) bool {
		return a.Table == table && (a.Column == column || column == "" && !a.rowless)
	})
	if i >= 0 {
		return all[i], nil
	}
	r := c.rels[table]
	if why := protectable(r.Table); why != "" {
		return Candidate{}, fmt.Errorf("%v cannot be the unit's table: %s", table, why)
	}
	a := Candidate{Table: table, Column: column, people: r.people}
	if column == "" {
		a.Column = c.unitKey(r)
		if f := r.ownNumber(); a.Column == "" && f != nil {
			a.Column = f.Name
		}
	}
	f := r.field(a.Column)
	switch {
	case a.Column == "":
		return a, fmt.Errorf("%v cannot be the unit's table: it needs a key of one integer, text or uuid column; "+
			"or say which column it is: --unit=%s.COLUMN", table, shortName(table))
	case f == nil:
		return a, fmt.Errorf("%v has no column %q", table, a.Column)
	case !identifies(f.Column):
		return a, fmt.Errorf("%v.%s cannot be the unit: it is no integer, no text of a deterministic collation and no uuid",
			table, a.Column)
	}
	a.rowless = a.names(r, f)
	a.Leading = len(c.leading(&a))
	return a, nil
}

// names reports whether a column names other people than the rows of its table describe.
func (a *Candidate) names(r *relation, f *field) bool {
	word, ok := f.namesSomebody()
	return ok && word != r.row() && !unique(r.Table, []string{f.Name})
}
