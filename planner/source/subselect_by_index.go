package source

import (
	"slices"

	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A look-up is a sub-select of one table in which an index finds, by an equality with the row around it, rows of the unit of that row
// alone, or one row. Looking them up is work for one row, as reading that row is. It takes the place of a side where an index
// may find the rows that ask: they can be few, and a side would read the table whole for them. Where all rows of a table ask, a
// side takes less time.

// WriteQuery writes a sub-select in a condition on the rows of the level.
func (l *level) WriteQuery(w *scalar.Writer, q *scalar.Query) (string, error) {
	i := slices.IndexFunc(l.semijoinsOf(), func(j *semijoin) bool { return j.query == q })
	j := l.semijoinsOf()[i]
	if !l.byIndex(j) {
		return sideOf(l, i).condition(w)
	}
	look, err := l.look(w, j)
	if err != nil {
		return "", err
	}
	return look.SQL(), nil
}

// byIndex reports whether a sub-select is a look-up.
func (l *level) byIndex(j *semijoin) bool {
	in := j.inner
	r, table := in.root.(*relation)
	return table && r.rows == nil && !r.listed && !in.unmatched && len(in.follows.hops(r)) == 0 && len(in.semijoinsOf()) == 0 &&
		in.finding() != nil && l.found()
}

// finding returns the tie by which an index finds rows of one unit, or one row; nil if there is none.
func (l *level) finding() *pair {
	i := slices.IndexFunc(l.ties, func(t pair) bool {
		home := l.home[t.a]
		return home.table.Begins(t.a.Name) && (l.IsUnit(&scalar.Ref{Column: t.a}) || ofOne(home, t.a.Name))
	})
	if i < 0 {
		return nil
	}
	return &l.ties[i]
}

// ofOne reports whether rows of a table with the same value of a column are one row, or of one unit by the first step of its path.
func ofOne(r *relation, column string) bool {
	if r.rows != nil {
		return false
	}
	if r.protected() && len(r.table.Unit.Steps) > 0 && slices.Equal(r.table.Unit.Steps[0].From, []string{column}) {
		return true
	}
	return slices.ContainsFunc(r.keys(), func(key []int) bool { return len(key) == 1 && r.columns[key[0]].Name == column })
}

// found reports whether an index may find rows of the level by conditions on one of its relations.
func (l *level) found() bool {
	return slices.ContainsFunc(slices.Concat(l.where, joinConditions(l.root)), func(c condition) bool {
		var homes []*relation
		indexed := false
		for _, col := range c.x.Columns() {
			home := l.home[col]
			homes = append(homes, home)
			indexed = indexed || home == nil || home.rows != nil || home.table.Begins(col.Name)
		}
		return indexed && !c.query && len(slices.Compact(homes)) == 1
	})
}

// joinConditions are those of all joins of a node.
func joinConditions(n node) []condition {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	return slices.Concat(joinConditions(j.left), joinConditions(j.right), j.on)
}

// look writes a sub-select that is looked up.
func (l *level) look(w *scalar.Writer, j *semijoin) (*sqltext.Look, error) {
	in := j.inner
	p := &sourceWriter{level: in, w: in.writer(l.writer(w))}
	r, by := in.relations[0], in.finding()
	other, err := p.w.Expr(&scalar.Ref{Column: by.b})
	if err != nil {
		return nil, err
	}
	out := &sqltext.Look{Table: &sqltext.Table{SQL: tableSQL(r), As: r.alias}, Key: by.a.Presence(), Other: other}
	conds := in.where
	if in.match != nil {
		conds = append(slices.Clone(conds), condition{x: in.match})
	}
	if r.protected() && !p.followed(r) && !r.unit.NotNull {
		out.Where = []string{r.unit.Read() + " IS NOT NULL"}
	}
	var others []scalar.Expr
	for _, c := range conds {
		if a, b, ok := scalar.Equality(c.x); !ok || out.By != "" || *by != (pair{a, b}) && *by != (pair{b, a}) {
			others = append(others, c.x)
		} else if out.By, err = p.w.Expr(c.x); err != nil {
			return nil, err
		}
	}
	met, err := p.w.All(others)
	out.Where = append(out.Where, met...)
	return out, err
}

// looks are the sub-selects of the level that are looked up.
func (p *sourceWriter) looks() (list []*sqltext.Look, err error) {
	for _, j := range p.level.semijoinsOf() {
		if !p.level.byIndex(j) {
			continue
		}
		look, err := p.level.look(p.w, j)
		if err != nil {
			return nil, err
		}
		list = append(list, look)
	}
	return list, nil
}
