package suggest

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// Bounds of clear cases.
const (
	// nearScore is by how much the first must be before its rivals.
	nearScore = 6
	// clearPoints or clearLeading, tables that lead there, are enough evidence.
	clearPoints, clearLeading = 6, 2
	// shown is how many candidates are listed.
	shown = 9
)

// An UnclearError says that the catalogue does not tell whom to protect.
type UnclearError struct{ Candidates []Candidate }

// Error lists the candidates, and the choices of the command.
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

// Explained says why somebody could be protected by the candidate.
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

// contenders are the candidates that could be meant: the first, and those of its class that come near it, unless they say more of the
// same people. One contender is clear if there is enough of it.
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

// rowlessAlone reports whether nothing but the name of one column speaks for a candidate.
func (a *Candidate) rowlessAlone() bool {
	return a.rowless && a.Leading < clearLeading && len(a.evidence) == 0
}

// whole is the first candidate, or another one near it that its rows say more of: a user is a person.
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

// refersTo reports whether a table has a foreign key to another one that is called as the other's rows or its key are: who has
// created a row is no such reference.
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

// unitChosen returns the candidate that somebody names: one of the list, or any other column that can identify somebody.
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

// names reports whether a column is of somebody else than the rows of its table are.
func (a *Candidate) names(r *relation, f *field) bool {
	word, ok := f.namesSomebody()
	return ok && word != r.row() && !unique(r.Table, []string{f.Name})
}
