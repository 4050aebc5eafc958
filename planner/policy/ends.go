package policy

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// An End is a column, or several of one key, at which the way from a row to its unit can end: the row is nobody's then.
type End struct {
	// At is the table that the columns are of: the row's own, or one on its way.
	At      *Table
	Columns []string
	// Null says that one of the columns can be NULL.
	Null bool
	// To is the table in which a row can be missing, since no foreign key is enforced; nil if none can.
	To *Table
}

// Ends lists where the ways of the table's rows can end such that they are left out, in the order of the way. If there are none, every
// row is somebody's, or counts without a unit.
func Ends(t *Table) []End {
	var all []End
	for _, e := range ends(t) {
		if e.Null = e.Null && !e.counts; e.Null || e.To != nil {
			all = append(all, e.End)
		}
	}
	return all
}

// An anyEnd is an End, also one at which rows count on: counts.
type anyEnd struct {
	End
	counts bool
}

func ends(t *Table) []anyEnd {
	if t.Public || t.Unit.Column == "" {
		return nil
	}
	var all []anyEnd
	at := t
	for _, s := range t.Unit.Steps {
		e := anyEnd{End: End{At: at, Columns: s.From, Null: nullable(at, s.From)}}
		if !enforces(at, s) {
			e.To = s.To
		}
		all = append(all, e)
		at = s.To
	}
	own := []string{t.Unit.Column}
	return append(all, anyEnd{End{At: at, Columns: own, Null: nullable(at, own)}, at.Counting != nil})
}

func nullable(t *Table, columns []string) bool {
	return slices.ContainsFunc(columns, func(name string) bool {
		c, ok := t.Source.Column(name)
		return !ok || !c.NotNull
	})
}

// enforces reports whether the database itself holds that the step finds a row.
func enforces(t *Table, s Step) bool {
	return slices.ContainsFunc(t.Source.Foreign, func(fk catalog.ForeignKey) bool {
		if fk.References != s.To.Name || len(fk.Columns) != len(s.From) {
			return false
		}
		for i, name := range s.From {
			if at := slices.Index(fk.Columns, name); at < 0 || fk.Target[at] != s.Key[i] {
				return false
			}
		}
		return true
	})
}

// Said writes when a way of the table's rows ends here, without names of hidden columns.
func (e End) Said(of *Table) string {
	columns := e.At.ShownList(e.Columns)
	if e.At != of {
		columns = e.At.Name.Name + "." + columns
	}
	var ways []string
	if e.Null {
		ways = append(ways, "is NULL")
	}
	if e.To != nil {
		ways = append(ways, "has no row in "+e.To.Name.Name)
	}
	return columns + " " + strings.Join(ways, " or ")
}
