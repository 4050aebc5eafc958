package policy

import (
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// FewUnits is how many privacy units a limit of contributions needs to be chosen well: among fewer
// the chosen one is low, and leaves out much.
const FewUnits = 2000

// Advice says what the administrator could state otherwise about contributions. Rows are those of
// protected tables, counted up to FewUnits; a table that is not in it has many. No number of them is
// in the advice but that one.
func (m *Model) Advice(rows map[catalog.Name]int64) []Problem {
	a := &adviser{model: m}
	for _, n := range m.Protected() {
		if t := m.tables[n]; m.Whole(t) == t && ofPeople(t) && !t.onePerUnit() {
			a.limits(t)
			a.columns(t)
			a.few(t, rows)
		}
	}
	return a.advice
}

// An adviser collects advice.
type adviser struct {
	model  *Model
	advice []Problem
}

func (a *adviser) say(t *Table, format string, args ...any) {
	a.advice = append(a.advice, problemOf([]string{"tables", t.Name.String()}, format, args...))
}

// limits finds numbers that no key of the table proves to be enough.
func (a *adviser) limits(t *Table) {
	if t.MaxRows > 0 && t.MaxPartitions > 0 {
		a.say(t, "no key proves that one %s has at most %d rows in a group, or rows in at most %d groups: these limits may leave out "+
			"much; max_rows_per_group: auto chooses one that fits, and measures what it leaves out",
			a.model.unit, t.MaxRows, t.MaxPartitions)
	}
}

// columns finds bounds that sums do not need where a limit is chosen, and numbers that cannot be
// summed without.
func (a *adviser) columns(t *Table) {
	if t.MaxRows > 0 {
		return
	}
	var bounded, stepless []string
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Hidden:
		case c.Bounds != nil && c.Bounds.Low != nil:
			bounded = append(bounded, c.Name)
		case c.lacksStep():
			stepless = append(stepless, c.Name)
		}
	}
	if bounded != nil {
		a.say(t, "sums and averages need no bounds of %s any more, since the limit of what one %s adds is chosen; "+
			"variance, stddev, percentiles, min and max still do", strings.Join(bounded, ", "), a.model.unit)
	}
	if stepless != nil {
		a.say(t, "%s cannot be summed: state a step, such as {step: 0.01}, or bounds", strings.Join(stepless, ", "))
	}
}

// lacksStep reports whether neither the type of the column nor the policy says in which steps its
// values are summed.
func (c *Column) lacksStep() bool {
	t := pgtype.OfColumn(c.Type, catalog.Name{}, true)
	return c.Step == nil && (t.Family() == pgtype.FloatFamily || t.Family() == pgtype.NumericFamily && t.Scale() < 0)
}

// few finds limits that would be chosen among few units.
func (a *adviser) few(t *Table, rows map[catalog.Name]int64) {
	if t.MaxRows == 0 && a.units(t, rows) < FewUnits {
		a.say(t, "few units: a limit that is chosen among fewer than %d (%s) is low and leaves out much; choose max_rows_per_group "+
			"yourself: a number, or {auto: n} with the n rows that one %[2]s has in a group at most; and say privacy_unit.units: about "+
			"how many there are", FewUnits, a.model.unit)
	}
}

// units returns about how many units have rows in the table, if they are few: as many as the policy says,
// or at most as many as it has rows, and as the largest table has that has one row of each unit.
func (a *adviser) units(t *Table, rows map[catalog.Name]int64) int64 {
	if a.model.units > 0 {
		return a.model.units
	}
	units, all := int64(FewUnits), int64(0)
	for n, count := range rows {
		switch other := a.model.tables[n]; {
		case other == t:
			units = min(units, count)
		case a.model.Whole(other) == other && other.onePerUnit():
			all = max(all, count)
		}
	}
	if all > 0 {
		units = min(units, all)
	}
	return units
}

// onePerUnit reports whether keys prove that a unit has at most one row in the table.
func (t *Table) onePerUnit() bool {
	at := t
	for _, s := range t.Unit.Steps {
		if !isUnique(at.Source, s.From) {
			return false
		}
		at = s.To
	}
	return isUnique(at.Source, []string{t.Unit.Column})
}
