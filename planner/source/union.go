package source

import (
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// An outputColumn is one column of a branch.
type outputColumn struct {
	name string
	x    scalar.Expr // nil before a literal has a type
	at   int
	// as gives a literal the type of the column beside it; nil for anything else.
	as func(pgtype.Type) (scalar.Expr, error)
}

// become gives a literal a type; of nil there is none.
func (o *outputColumn) become(t pgtype.Type) (err error) {
	if o != nil {
		o.x, err = o.as(t)
	}
	return err
}

// A unitedColumn is a column of a query or a UNION ALL of them. A literal without a type takes
// that of the column that it is combined with first.
type unitedColumn struct {
	name    string
	typ     pgtype.Type
	literal *outputColumn // nil if it has a type
	at      int
}

// unitedColumns gives the columns of a query the types that Postgres gives them, which follow the
// nesting of its UNION ALL. It returns the outputs of the branches behind it.
func unitedColumns(rows ast.Rows, outputs [][]outputColumn) ([]unitedColumn, [][]outputColumn, error) {
	u, nested := rows.(*ast.UnionAll)
	if !nested {
		return columnsAlone(outputs[0]), outputs[1:], nil
	}
	left, outputs, err := unitedColumns(u.Left, outputs)
	if err != nil {
		return nil, nil, err
	}
	right, outputs, err := unitedColumns(u.Right, outputs)
	if err != nil {
		return nil, nil, err
	}
	if len(left) != len(right) {
		return nil, nil, notHere(u.At, "Name the same number of columns in each branch.",
			"the branches of UNION ALL have %d and %d columns", len(left), len(right))
	}
	for i := range left {
		if left[i], err = left[i].with(right[i], i); err != nil {
			return nil, nil, err
		}
	}
	return left, outputs, nil
}

// columnsAlone are those of a query without UNION ALL.
func columnsAlone(outputs []outputColumn) []unitedColumn {
	list := make([]unitedColumn, len(outputs))
	for i := range outputs {
		o := &outputs[i]
		list[i] = unitedColumn{name: o.name, at: o.at}
		if o.x == nil {
			list[i].literal = o
		} else {
			list[i].typ = o.x.Type()
		}
	}
	return list
}

// with combines two columns; the first one names the result.
func (c unitedColumn) with(d unitedColumn, i int) (_ unitedColumn, err error) {
	t, ok := pgtype.Of(pgtype.Text), true
	switch {
	case c.literal != nil && d.literal != nil:
	case c.literal != nil:
		t, ok = beside(d.typ)
	case d.literal != nil:
		t, ok = beside(c.typ)
	default:
		t, ok = pgtype.Union(c.typ, d.typ)
	}
	if !ok {
		return c, notHere(d.at, "Cast one of them.", "column %d of UNION ALL has the types %s and %s", i+1, c.typeName(), d.typeName())
	}
	if err = c.literal.become(t); err == nil {
		err = d.literal.become(t)
	}
	return unitedColumn{c.name, t, nil, c.at}, err
}

func (c unitedColumn) typeName() string {
	if c.literal != nil {
		return "unknown"
	}
	return c.typ.String()
}

// beside is the type of a column that has a literal in another branch: no domain, and without a
// modifier. Values that are only counted have no literals.
func beside(t pgtype.Type) (pgtype.Type, bool) {
	return t.Unmodified(), t.Family() != pgtype.NoFamily
}

// unite makes the columns of a derived table of those of its branches.
func unite(r *relation, rows ast.Rows, outputs [][]outputColumn) error {
	united, _, err := unitedColumns(rows, outputs)
	if err != nil {
		return err
	}
	for i, first := range united {
		if first.literal != nil {
			first.typ = pgtype.Of(pgtype.Text)
			if err := first.literal.become(first.typ); err != nil {
				return err
			}
		}
		c := &scalar.Column{Name: first.name, Type: first.typ, NotNull: true, SQL: r.alias + ".c" + strconv.Itoa(i+1)}
		for n, b := range r.rows.branches {
			x := outputs[n][i].x
			c.NotNull = c.NotNull && neverNull(b.source, x)
			c.Of = append(c.Of, x)
			b.targets = append(b.targets, x)
		}
		c.Reach = reachOf(c)
		r.columns = append(r.columns, c)
	}
	return nil
}

// reachOf tells how much is read of a column that stands for plain columns. Any other text has
// been cut where it was made.
func reachOf(c *scalar.Column) scalar.Reach {
	reach := scalar.Whole
	for i, x := range c.Of {
		col, plain := scalar.PlainColumn(x)
		switch {
		case !plain || !scalar.Long(c.Type):
			return scalar.Whole
		case col.Reach == scalar.Beginning, col.Reach == scalar.Piece && i == 0:
			reach = col.Reach
		case col.Reach != scalar.Piece && reach == scalar.Piece:
			reach = scalar.Whole
		}
	}
	return reach
}

// neverNull reports whether an expression is not NULL on any row of a level.
func neverNull(l *level, x scalar.Expr) bool {
	ref, ok := x.(*scalar.Ref)
	return ok && ref.Column.NotNull || scalar.NeverNull(l.Conjuncts(), x)
}
