package source

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A full join of protected relations is a derived table, the UNION ALL of two outer joins. The second has the rows without a match:
//
//	FROM patients p FULL JOIN visits v ON v.patient_id = p.id
//
//	FROM (
//	  SELECT p.*, v.* FROM patients p LEFT JOIN visits v ON v.patient_id = p.id
//	  UNION ALL
//	  SELECT p.*, v.* FROM patients p RIGHT JOIN visits v ON v.patient_id = p.id WHERE p.id IS NULL
//	) AS x
//
// So each row has the unit of its branch. A column that = compares in ON is not NULL on a row that has a match. One that USING merges is
// the left one in the first branch, and the right one in the second.
func resolveFull(sc scope, f *ast.Join, nullable bool) (node, frame, error) {
	left, err := halfOfFull(sc, f, ast.Left)
	if err != nil {
		return nil, frame{}, err
	}
	right, err := halfOfFull(sc, f, ast.Right)
	if err != nil {
		return nil, frame{}, err
	}
	fields, others := left.frame.fields(), right.frame.fields()
	visible := make([]int, len(left.frame.visible)) // their places among the fields
	for i, x := range left.frame.visible {
		other := right.frame.visible[i]
		if visible[i] = slices.Index(fields, x); visible[i] != slices.Index(others, other) {
			visible[i] = len(fields)
			fields, others = append(fields, x), append(others, other)
		}
	}
	both := &ast.UnionAll{Left: selecting(left, f, fields), Right: selecting(right, f, others), At: f.At}
	n, all, err := sc.derivedRows(&ast.Derived{Query: both, Alias: left.frame.items[0].alias, At: f.At}, nullable)
	if err != nil {
		return nil, frame{}, err
	}
	relationsOf(n)[0].rows.full = true
	out, fields := frame{notNull: all.notNull}, all.visible
	for _, i := range visible {
		out.visible = append(out.visible, fields[i])
	}
	for _, it := range left.frame.items {
		own := fields[:len(it.fields)]
		out.items, fields = append(out.items, it.with(own)), fields[len(it.fields):]
	}
	return n, out, nil
}

// halfOfFull is the level of a branch.
func halfOfFull(sc scope, f *ast.Join, kind ast.JoinKind) (scope, error) {
	half := *f
	half.Kind = kind
	sc, err := sc.shared.newLevel(sc.resolved.place).resolveFrom(&half)
	if err != nil {
		return sc, err
	}
	j, ok := sc.resolved.root.(*joined)
	if !ok || !holdsProtected(j.left) || !holdsProtected(j.right) {
		return sc, pgerr.New(pgerr.Ownership, "FULL JOIN with public rows cannot be used on protected data").At(f.At).
			WithHint("Use LEFT JOIN: a public row without a match belongs to no %s.", sc.resolved.model.Unit())
	}
	var where ast.Expr
	if kind == ast.Right {
		for _, p := range equalities(j.on) {
			for _, c := range []*scalar.Column{p.a, p.b} {
				if holdsColumn(j.right, c) {
					where = &ast.IsNull{X: sc.pin(&ast.Column{Name: c.Name, At: f.At}, c), At: f.At}
				}
			}
		}
		if where == nil {
			return sc, notHere(f.At, "Compare the columns that identify the unit in ON.",
				"FULL JOIN on protected data takes an equality of columns")
		}
	}
	return sc.resolveConditions(where)
}

// fields are those of all items, in order.
func (f frame) fields() (list []field) {
	for _, it := range f.items {
		list = append(list, it.fields...)
	}
	return list
}

// selecting is a query of fields of a level.
func selecting(sc scope, f *ast.Join, fields []field) *ast.Select {
	out, all := &ast.Select{From: f, At: f.At}, &item{alias: ast.OwnPrefix + "full"}
	for i, x := range fields {
		c := &ast.Column{Qualifier: all.alias, Name: strconv.Itoa(i), At: f.At}
		all.fields = append(all.fields, field{c.Name, x.column, x.computed})
		out.Targets = append(out.Targets, ast.Target{X: c, Name: x.name, At: f.At})
	}
	sc.frame.items = append(slices.Clip(sc.frame.items), all)
	sc.shared.begin(out, sc)
	return out
}
