package scalar

import (
	"slices"
	"strconv"

	"dpproxy/planner/pgtype"
)

// The sources of keys are the columns of tables of which they are computed, or expressions. Where keys show steps of what several columns
// give together, as floor((until - since) / 30) does, the difference is a source: the steps cut its values into cells, as they would cut
// those of a column.

// A source is a column of a table, as a Ref, or an expression, or several columns of the same rows of public relations.
type source struct {
	part   any // of rows; nil of others
	rows   []*Column
	x      Expr
	called Expr // the column as conditions call it
	null   bool
	from   string
	count  int64
	cells  int // the cells that are looked for at most
	// long says that there are more cells, and uncut that none were looked for.
	long, uncut bool
	// whole says that each value is listed that the policy or a public table has of it, whatever keys and conditions are.
	whole bool
}

// is reports whether an expression is the source, or one of its columns.
func (s *source) is(e Expr) bool {
	if s.part == nil {
		return isSource(s.x, e)
	}
	ref, plain := e.(*Ref)
	return plain && slices.Contains(s.rows, ref.Column)
}

// as names the values of the source among others.
func (s *source) as(i int) string {
	name := s.from + " AS " + valuesName(i)
	if s.part == nil {
		name += "(x)"
	}
	return name
}

func valuesName(i int) string { return "v" + strconv.Itoa(i+1) }

// A depth says where the sources of keys are looked for. The list of the first that does not have too many values is taken.
type depth uint8

const (
	ofTables     depth = iota // columns of tables
	whereMet                  // the smallest expressions in which values of several columns meet, and columns that meet no others
	whereLastMet              // the largest ones
	ofKeys                    // the largest expressions that have few values
	depths
)

// add finds the sources of an expression. It returns false if there are none.
func (l *combination) add(e Expr) bool { return l.addAs(e, e) }

// addAs is add for an expression that conditions call by the name of a column of a derived table.
func (l *combination) addAs(e, called Expr) bool {
	if l.takes(e, called) {
		l.note(e, called)
		return true
	}
	switch e := e.(type) { //nolint:gochecksumtype // the others have the sources of their operands
	case *constant:
		return !l.Env.Unsettled(e)
	case *Query, *term:
		return false
	case *bounded, *aggregate:
		l.note(e, called)
		return true
	case *Ref:
		if l.public(e.Column) {
			return true
		}
		if below := e.Column.computed(); below != nil {
			return remembered(&l.found, e.Column, func() bool { return l.addAs(below, called) })
		}
		l.note(&Ref{Column: e.Column.Base(), At: e.At}, called)
		return true
	}
	return !slices.ContainsFunc(operands(e), func(o Expr) bool { return !l.add(o) })
}

// takes reports whether an expression that is no column is a source by itself.
func (l *combination) takes(e, called Expr) bool {
	switch l.at {
	case whereMet:
		return meets(e) && l.onLine(e, called) && !l.metBelow(e)
	case whereLastMet:
		return meets(e) && l.onLine(e, called)
	case ofKeys:
		return len(e.Columns()) > 0 && l.inRow(e, called)
	case ofTables, depths:
	}
	return false
}

// meets reports whether values of several columns meet in an expression that computes with them.
func meets(e Expr) bool {
	if _, plain := e.(*Ref); plain || len(Bases(e)) < 2 {
		return false
	}
	varying := 0
	for _, o := range operands(e) {
		if len(Bases(o)) > 0 {
			varying++
		}
	}
	return varying > 1
}

// metBelow reports whether there is a source of the kind below an expression.
func (l *combination) metBelow(e Expr) bool {
	return slices.ContainsFunc(operands(e), func(o Expr) bool {
		if below, plain := o.(*Ref); plain {
			if o = below.Column.computed(); o == nil {
				return false
			}
		}
		return meets(o) && l.onLine(o, o) || l.metBelow(o)
	})
}

// onLine reports whether the values of an expression that is no column are on a line that keys and conditions may cut.
func (l *combination) onLine(e, called Expr) bool {
	if l.Env.Unsettled(e) || len(Queries(e)) > 0 {
		return false
	}
	if e.Type().OID == pgtype.Bool {
		return true
	}
	_, ok := lineOfSource(l.Env, called, l.where)
	return ok
}

// inRow reports whether the values of an expression that is no column are few enough to be listed one by one.
func (l *combination) inRow(e, called Expr) bool {
	if _, plain := e.(*Ref); plain || l.Env.Unsettled(e) {
		return false
	}
	if e.Type().OID == pgtype.Bool {
		return len(Queries(e)) == 0
	}
	line, ok := lineOfSource(l.Env, called, l.where)
	if !ok {
		return false
	}
	_, few := line.count(mostListed)
	return few && line.unit != nil && (e.Type().Whole() || e.Type().OID == pgtype.Date || line.unit.Cmp(rat(1)) == 0 && !e.Type().Dated())
}

// restrict finds the conditions over the sources.
func (l *combination) restrict(conditions []Expr) {
	for _, c := range conditions {
		if !l.covers(c) {
			if c = Within(c, func(c *Column) bool { return l.covers(&Ref{Column: c}) }); c == nil || !l.covers(c) {
				continue
			}
		}
		if len(c.Columns()) > 0 {
			l.conditions = append(l.conditions, c)
		}
	}
}

// covers reports whether an expression is computed from the sources alone.
func (l *combination) covers(e Expr) bool {
	if l.source(e) != nil {
		return true
	}
	switch e := e.(type) { //nolint:gochecksumtype // operands decide about the others
	case *constant:
		return !l.Env.Unsettled(e)
	case *Query, *aggregate, *term:
		return false
	case *Ref:
		below := e.Column.computed()
		return below != nil && remembered(&l.covered, e.Column, func() bool { return l.covers(below) })
	}
	return !slices.ContainsFunc(operands(e), func(o Expr) bool { return !l.covers(o) })
}

// remembered computes a fact about a column once.
func remembered(facts *map[*Column]bool, c *Column, compute func() bool) bool {
	fact, known := (*facts)[c]
	if !known {
		fact = compute()
		if *facts == nil {
			*facts = map[*Column]bool{}
		}
		(*facts)[c] = fact
	}
	return fact
}
