package source

import (
	"slices"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// tie finds the columns that are identical to ones of the relations that are kept.
func (d *domain) tie(classes [][]*scalar.Column) {
	for _, class := range classes {
		for _, c := range class {
			home := d.level.home[c]
			if home == nil || !home.protected() || d.written(c) || d.ties[c] != nil {
				continue
			}
			i := slices.IndexFunc(class, func(o *scalar.Column) bool { return d.written(o) && scalar.Identical(c, o) })
			if i < 0 {
				continue
			}
			as := *c
			as.SQL, as.Reach = scalar.ReadAs(class[i], c.Type), scalar.Whole
			d.ties[c], d.renamed[c] = class[i], &as
		}
	}
}

// tieBelow finds the columns of derived tables that have the values of such columns, and the conditions on them that hold on every row.
func (d *domain) tieBelow() (conds []condition) {
	for _, r := range kept(d.level.root) {
		if len(r.branches()) != 1 {
			continue
		}
		for _, c := range r.columns {
			for below := c.Below(); below != nil && d.renamed[c] != nil; below = below.Below() {
				d.ties[below], d.renamed[below] = d.ties[c], d.renamed[c]
			}
		}
		b := r.rows.branches[0]
		for _, x := range append(b.source.AllConjuncts(), conjunctsOf(b.having)...) {
			if scalar.OfOneRow(x) {
				conds = append(conds, condition{x: x})
			}
		}
	}
	return conds
}

func conjunctsOf(e scalar.Expr) []scalar.Expr {
	if e == nil {
		return nil
	}
	return scalar.Conjuncts(e)
}

// declared writes the conditions that columns of protected relations have declared values.
func (d *domain) declared(classes [][]*scalar.Column) (conds []string) {
	for _, class := range classes {
		for _, c := range class {
			as := d.renamed[c]
			if as == nil {
				continue
			}
			if pgtype.Bits(d.ties[c].Type.OID) > pgtype.Bits(c.Type.OID) {
				conds = append(conds, scalar.OfType(d.ties[c].Read(), c.Type)+" IS NOT FALSE")
			}
			if sql := scalar.DeclaredSQL(c.Base(), as.Read()); sql != "" {
				conds, d.restricting = append(conds, sql+" IS NOT FALSE"), append(d.restricting, c)
			}
		}
	}
	slices.Sort(conds)
	return slices.Compact(conds)
}
