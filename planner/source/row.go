package source

import (
	"slices"

	"dpproxy/parser/ast"
)

// A row in FROM gives names to expressions: constants, as in WITH params AS (SELECT date '2024-01-01' AS lo), or, with LATERAL, expressions
// over the items before it. Beside other rows it is none of its own: its expressions stand where they are named, so that a condition on a
// constant is one. The nullable side of an outer join needs a relation, of constants.

// resolveRow resolves a row as a relation of constants.
func resolveRow(sc scope, f *ast.Row, nullable bool) (node, frame, error) {
	out := &ast.Listed{Alias: f.Alias, At: f.At}
	for i, t := range f.Targets {
		if !ast.ColumnFree(t.X) || f.Lateral {
			return nil, frame{}, errRow(f)
		}
		list := ast.List{Name: t.Name, Array: &ast.Array{Elems: []ast.Expr{t.X}, At: t.At}}
		if i < len(f.Columns) {
			list.Name = f.Columns[i]
		}
		out.Lists = append(out.Lists, list)
	}
	return sc.resolveListed(out, nullable)
}

func errRow(f *ast.Row) error {
	return notHere(f.At, "Write its expressions in the query around it.",
		"a row of expressions cannot be on the side of an outer join that is filled with NULL on protected data")
}

// isBeside reports whether a join has a row of one side beside each row of the other.
func isBeside(f *ast.Join, nullable bool) bool {
	return !nullable && !f.Natural && len(f.Using) == 0 && (f.Kind == ast.Cross || f.Kind == ast.Inner)
}

// refersLeft reports whether an item of FROM can refer to the items before it.
func refersLeft(f ast.From) bool {
	switch f := f.(type) { //nolint:gochecksumtype // the others do not
	case *ast.Lateral, *ast.Elements:
		return true
	case *ast.Row:
		return f.Lateral
	}
	return false
}

// rowFirst resolves a join whose left side is a row.
func rowFirst(sc scope, f *ast.Join, row *ast.Row) (node, frame, error) {
	n, rf, err := sc.resolveItem(f.Right, false)
	if err != nil {
		return nil, frame{}, err
	}
	own, err := rowFrame(sc, row, frame{})
	if err != nil {
		return nil, frame{}, err
	}
	return n, own.beside(rf, nil), besideCondition(sc, f, own, rf, own.beside(rf, nil))
}

// rowBeside resolves a join whose right side is a row.
func rowBeside(sc scope, f *ast.Join, row *ast.Row, left node, lf frame, nullable bool) (node, frame, error) {
	if outer := f.Kind == ast.Left && f.On != nil && !isTrue(f.On); outer || nullable {
		return nil, frame{}, errRow(row)
	}
	own, err := rowFrame(sc, row, lf) // without LATERAL it has names of constants
	if err != nil {
		return nil, frame{}, err
	}
	all := lf.beside(own, nil)
	return left, all, besideCondition(sc, f, lf, own, all)
}

// besideCondition makes the condition of such a join one of the level.
func besideCondition(sc scope, f *ast.Join, left, right, all frame) error {
	for _, it := range right.items {
		if it.alias != "" && left.named("", it.alias) != nil {
			return errSameAlias(it.alias, f.At)
		}
	}
	sc.frame, sc.outer = all, nil
	if f.On == nil || isTrue(f.On) {
		return nil
	}
	for _, e := range conjunction(f.On) {
		c, err := sc.resolveCondition(e)
		if err != nil {
			return err
		}
		sc.resolved.where = append(sc.resolved.where, c)
	}
	return nil
}

// rowFrame has the names of a row, whose expressions have names of a frame.
func rowFrame(sc scope, row *ast.Row, in frame) (frame, error) {
	it := &item{alias: row.Alias}
	own := scope{sc.draft, in, nil}
	for _, t := range row.Targets {
		x := t.X
		if untyped(x) {
			x = &ast.Cast{X: x, Type: ast.TypeName{Schema: "pg_catalog", Name: "text"}, At: x.Pos()}
		}
		if _, err := own.Resolver().Expr(x); err != nil {
			return frame{}, err
		}
		f := field{name: t.Name, computed: &computed{of: x, in: in}}
		if c, plain := x.(*ast.Column); plain {
			named, err := in.field(c)
			if err != nil {
				return frame{}, err
			}
			f.column, f.computed = named.column, named.computed
		}
		it.fields = append(it.fields, f)
	}
	if err := it.rename(row.Columns, row.At); err != nil {
		return frame{}, err
	}
	return frame{items: []*item{it}, visible: slices.Clone(it.fields)}, nil
}
