package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// ErrorColumns are the columns with errors that a query gets after its own, a word of dp.columns.
type ErrorColumns string

// The words of dp.columns.
const (
	Values    ErrorColumns = "values"    // none
	Errors    ErrorColumns = "errors"    // of a column x the distance from the farther end of its interval, as x_error
	Intervals ErrorColumns = "intervals" // and both ends, and the standard error of the noise, as x_lower, x_upper and x_stderr
	Rounded   ErrorColumns = "rounded"   // x is rounded to the digits that its error supports, and x_error is a text
)

// ErrorColumnsWords are all of them.
func ErrorColumnsWords() []string {
	return []string{string(Values), string(Errors), string(Intervals), string(Rounded)}
}

// A Side is a number that tells of the error of a value.
type Side int

// The sides, in the order of their columns.
const (
	Low Side = iota
	High
	Deviation
	Half
	Said // the half as a text, with which the value is rounded
)

// sides are the names of sides: a column of x is named x_lower and so on.
var sides = append(pgtree.ErrorSides[:Said:Said], "rounding")

// of are the sides that there are columns of.
func (b ErrorColumns) of() []Side {
	switch b {
	case Intervals:
		return []Side{Low, High, Deviation, Half}
	case Rounded:
		return []Side{Said}
	case Values, Errors:
	}
	return []Side{Half}
}

// suffix ends the name of the column of a side.
func (s Side) suffix() string {
	if s == Said {
		s = Half
	}
	return "_" + sides[s]
}

// An ErrorPlace is an output column of a query that keeps the place of a side of the error of another one. It is NULL, or has what follows
// from its aggregates by a formula, unless something else is put there.
type ErrorPlace struct {
	Of      string
	Side    Side
	FromEnd int // how many columns are behind it
	Formula bool
}

// kept writes a column that keeps the place of a side, with its formula if there is one: it names both.
func (s Side) kept(of, formula string) string {
	name := ast.Quote(sides[s] + " of " + of)
	null, kind := "NULLIF("+name+", "+name+")", "float8"
	if s == Said {
		kind = "text"
	}
	null = "CAST(" + null + " AS " + kind + ")"
	switch {
	case formula == "":
		return null
	case s == Said:
		formula = "CAST(" + formula + " AS text)"
	}
	return "COALESCE(" + formula + ", " + null + ")"
}

// keeps reads such a column.
func keeps(value *pg.Node) (p ErrorPlace, ok bool) {
	text, formula, _ := pgtree.Kept(value)
	for i, name := range sides {
		if of, found := strings.CutPrefix(text, name+" of "); found {
			return ErrorPlace{Of: of, Side: Side(i), Formula: formula}, true
		}
	}
	return p, false
}

// errorPlaces finds such columns of a SELECT, in whose list nothing of an unknown number of columns is behind them. A star is as many
// columns as the only query in FROM has. It returns the number of all columns, −1 if that is unknown.
func errorPlaces(sel *pg.SelectStmt) (all []ErrorPlace, columns int) {
	if sel == nil || sel.Op > pg.SetOperation_SETOP_NONE || len(sel.ValuesLists) > 0 {
		return nil, -1
	}
	var inner []ErrorPlace
	within, known := 0, false // the columns of a star
	for i := len(sel.TargetList) - 1; i >= 0; i-- {
		value := sel.TargetList[i].GetResTarget().GetVal()
		if !pgtree.IsStar(value) {
			if p, ok := keeps(value); ok {
				p.FromEnd = columns
				all = append(all, p)
			}
			columns++
			continue
		}
		if !known {
			inner, within = errorPlaces(starred(sel))
			known = true
		}
		for _, p := range inner {
			p.FromEnd += columns
			all = append(all, p)
		}
		if columns += within; within < 0 || columns > maxColumns {
			return all, -1
		}
	}
	return all, columns
}

// starred is the only query in FROM, of which a star has all columns; nil if there is none.
func starred(sel *pg.SelectStmt) *pg.SelectStmt {
	if len(sel.FromClause) != 1 {
		return nil
	}
	if sub := sel.FromClause[0].GetRangeSubselect(); sub != nil {
		return sub.Subquery.GetSelectStmt()
	}
	r := sel.FromClause[0].GetRangeVar()
	for _, n := range sel.WithClause.GetCtes() {
		c := n.GetCommonTableExpr()
		if r != nil && r.Schemaname == "" && c.Ctename == r.Relname {
			return c.GetCtequery().GetSelectStmt()
		}
	}
	return nil
}
