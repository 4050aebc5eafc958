package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/core"
)

// A Value is one of a column. Values of one class are equal, and identical if they have one spelling as well. Null is none.
type Value struct {
	Class    string
	Spelling string
	Null     bool
}

// A Row has the values of columns, also of those that cannot be named: below a Group they are those of one row of the group.
type Row map[core.Col]Value

// A World has the rows of tables.
type World map[string][]Row

// A Test tells whether a row meets a condition.
type Test func(Row) bool

// A Func is the value of an expression: of a row, or of the rows of a group.
type Func func(...Row) Value

// Eval returns the rows of a relation. Conditions are [Test]s, and computed columns [Func]s.
func Eval(r core.Rel, w World) []Row {
	switch r := r.(type) {
	case *core.Scan:
		return w[r.Table]
	case *core.Values:
		return w[""]
	case *core.Filter:
		return slices.DeleteFunc(slices.Clone(Eval(r.In, w)), func(row Row) bool { return !meets(r.If, row) })
	case *core.Map:
		return each(Eval(r.In, w), func(row Row) []Row {
			out := maps.Clone(row)
			for _, d := range r.Defs {
				out[d.Out] = d.Of.(Func)(row) //nolint:forcetypeassert // of a test's own term
			}
			return []Row{out}
		})
	case *core.Join:
		return joined(r, Eval(r.L, w), Eval(r.R, w))
	case *core.Group:
		return grouped(r, Eval(r.In, w), unitOf(r.In))
	case *core.Rank:
		return ranked(Eval(r.In, w), r.By, unitOf(r.In), r.Out)
	case *core.Union:
		return append(side(r, Eval(r.L, w), r.Left, "left"), side(r, Eval(r.R, w), r.Also, "right")...)
	case *core.Unnest:
		return unnested(r, Eval(r.In, w))
	case *core.Cap:
		number := core.Col(1 << 12)
		kept := slices.DeleteFunc(ranked(Eval(r.In, w), nil, unitOf(r.In), number), func(row Row) bool {
			return unitOf(r.In) != 0 && row[number].Class > fmt.Sprintf("%06d", r.Rows)
		})
		return each(kept, func(row Row) []Row { delete(row, number); return []Row{row} })
	}
	return nil
}

func unitOf(r core.Rel) core.Col {
	t, _ := new(core.Judge).Check(r)
	return t.Unit
}

func each(rows []Row, f func(Row) []Row) (out []Row) {
	for _, row := range rows {
		out = append(out, f(row)...)
	}
	return out
}

func meets(conds []core.Condition, row Row) bool {
	return !slices.ContainsFunc(conds, func(c core.Condition) bool { return !c.Of.(Test)(row) }) //nolint:forcetypeassert // as above
}

func joined(r *core.Join, left, right []Row) []Row {
	return each(left, func(l Row) (out []Row) {
		found := false
		for _, also := range right {
			both := maps.Clone(l)
			maps.Copy(both, also)
			if meets(r.On, both) {
				found = true
				out = append(out, both)
			}
		}
		switch {
		case r.Kind == core.Semi && found, r.Kind == core.Anti && !found:
			return []Row{l}
		case r.Kind == core.Semi || r.Kind == core.Anti:
			return nil
		case r.Kind == core.Left && !found:
			return []Row{extended(l, r.R)}
		}
		return out
	})
}

// extended fills the columns of a relation with NULL.
func extended(l Row, r core.Rel) Row {
	out := maps.Clone(l)
	for _, c := range columns(r) {
		out[c] = Value{Null: true}
	}
	return out
}

// columns are those that the rows of a relation have.
func columns(r core.Rel) []core.Col {
	switch r := r.(type) {
	case *core.Scan:
		return append(slices.Clone(r.Cols), r.Row, r.Unit)
	case *core.Values:
		return append(slices.Clone(r.Cols), r.Row)
	case *core.Filter:
		return columns(r.In)
	case *core.Map:
		return outs(columns(r.In), r.Defs)
	case *core.Join:
		if r.Kind == core.Semi || r.Kind == core.Anti {
			return columns(r.L)
		}
		return append(columns(r.L), columns(r.R)...)
	case *core.Group:
		return append(outs(columns(r.In), r.Aggs), r.Row)
	case *core.Rank:
		return append(columns(r.In), r.Out)
	case *core.Union:
		return append(slices.Clone(r.Out), r.Row)
	case *core.Unnest:
		return append(columns(r.In), r.Row, r.Array.Out)
	case *core.Cap:
		return columns(r.In)
	}
	return nil
}

func outs(cols []core.Col, defs []core.Def) []core.Col {
	for _, d := range defs {
		cols = append(cols, d.Out)
	}
	return cols
}

// grouped shows of a group the values of its first row, and another spelling of its keys if there is one.
func grouped(r *core.Group, rows []Row, unit core.Col) (out []Row) {
	for _, g := range partitions(rows, r.Keys, unit) {
		row := maps.Clone(g.rows[0])
		for c := range r.Keys.Or(core.Of(unit)).All() {
			row[c] = g.rows[len(g.rows)-1][c]
		}
		row[r.Row] = Value{Class: g.name}
		for _, a := range r.Aggs {
			row[a.Out] = a.Of.(Func)(g.rows...) //nolint:forcetypeassert // as above
		}
		out = append(out, row)
	}
	return out
}

type partition struct {
	name string
	rows []Row
}

// partitions are rows that are equal in columns, in an order of their own.
func partitions(rows []Row, by core.Set, unit core.Col) (list []partition) {
	all := map[string][]Row{}
	for _, row := range rows {
		var name strings.Builder
		for c := range by.Or(core.Of(unit)).All() {
			fmt.Fprintf(&name, "%s/%v ", row[c].Class, row[c].Null)
		}
		all[name.String()] = append(all[name.String()], row)
	}
	for name, rows := range all {
		list = append(list, partition{name, sorted(rows)})
	}
	slices.SortFunc(list, func(a, b partition) int { return cmp.Compare(a.name, b.name) })
	return list
}

func sorted(rows []Row) []Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return cmp.Compare(Show(a), Show(b)) })
}

func ranked(rows []Row, by core.Set, unit, out core.Col) (list []Row) {
	for _, p := range partitions(rows, by, unit) {
		for i, row := range p.rows {
			row = maps.Clone(row)
			row[out] = Value{Class: fmt.Sprintf("%06d", i+1)}
			list = append(list, row)
		}
	}
	return list
}

func side(r *core.Union, rows []Row, from []core.Col, name string) []Row {
	return each(rows, func(row Row) []Row {
		out := Row{r.Row: {Class: name + Show(row)}}
		for i, c := range r.Out {
			out[c] = row[from[i]]
		}
		return []Row{out}
	})
}

// unnested has as many elements of a row as the class of the value is long.
func unnested(r *core.Unnest, rows []Row) []Row {
	return each(rows, func(row Row) (out []Row) {
		of := r.Array.Of.(Func)(row) //nolint:forcetypeassert // as above
		for i := range min(len(of.Class), int(r.Most)) {
			e := maps.Clone(row)
			e[r.Row], e[r.Array.Out] = Value{Class: fmt.Sprint(i)}, Value{Class: of.Class[i : i+1]}
			out = append(out, e)
		}
		if len(out) == 0 && r.Outer {
			e := maps.Clone(row)
			e[r.Row], e[r.Array.Out] = Value{Null: true}, Value{Null: true}
			out = append(out, e)
		}
		return out
	})
}

// Show writes a row, in the order of columns.
func Show(r Row) string {
	var b strings.Builder
	for _, c := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "%d=%s'%s", c, r[c].Class, r[c].Spelling)
		if r[c].Null {
			b.WriteString("null")
		}
		b.WriteByte(' ')
	}
	return b.String()
}
