package source

import (
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/scalar"
)

// PublicPart writes SQL for the mirror that has every value the public columns can show:
// the public relations that they come from, joined with those that equalities connect
// with them, under every condition over them alone. ok is false if one of the columns is
// not public. The columns are called as in the source itself.
//
// The nullable side of an outer join shows NULL as well, in all its columns at once. Where
// protected rows decide which rows have a match, both are among the values: with and
// without. Rows that a condition takes out of either are in neither.
func (s *Source) PublicPart(w *scalar.Writer, cols []*scalar.Column) (from, where string, ok bool, err error) {
	return publicPart(s.level, w, s.Inlined(), cols)
}

func publicPart(l *level, w *scalar.Writer, constants scalar.Inlined, cols []*scalar.Column) (from, where string, ok bool, err error) {
	d := &domain{level: l, w: w, constants: constants, wanted: map[*relation][]*scalar.Column{}}
	for _, c := range cols {
		r := l.home[c]
		if r == nil {
			return "", "", false, nil
		}
		d.wanted[r] = append(d.wanted[r], c)
	}
	d.connect()
	from, conds, err := d.node(l.root)
	if err != nil || from == "" || d.failed {
		return "", "", false, err
	}
	where, _ = d.where(slices.Concat(conds, d.inside(l.where)))
	return from, where, true, nil
}

// A domain is a source without its protected relations.
type domain struct {
	level     *level
	w         *scalar.Writer
	constants scalar.Inlined
	// wanted are the relations that are kept and the columns of theirs that are shown.
	wanted map[*relation][]*scalar.Column
	failed bool
	// doubled counts the outer joins that are written with and without a match.
	doubled int
}

// connect keeps every public relation that an equality connects with one that is kept, and
// those that conditions over kept relations mention.
func (d *domain) connect() {
	l := d.level
	pairs := slices.Concat(innerPairs(l.root), equalities(l.where))
	for again := true; again; {
		again = false
		for _, p := range pairs {
			a, b := l.home[p.a], l.home[p.b]
			if a == nil || b == nil || a.protected() || b.protected() || d.keeps(a) == d.keeps(b) {
				continue
			}
			for _, r := range []*relation{a, b} {
				if !d.keeps(r) {
					d.wanted[r] = []*scalar.Column{}
					again = true
				}
			}
		}
	}
}

// ShowsPublic reports whether the values of a column are those of a public relation: of
// this level, or of one that a derived table shows as it is.
func (r *resolved) ShowsPublic(c *scalar.Column) bool {
	home := r.home[c]
	switch {
	case home == nil:
		return false
	case !home.protected():
		return true
	case home.rows == nil:
		return false
	}
	i := slices.Index(home.columns, c)
	return i >= 0 && !slices.ContainsFunc(home.rows.branches, func(b *branch) bool {
		ref, plain := b.targets[i].(*scalar.Ref)
		return !plain || !b.source.ShowsPublic(ref.Column)
	})
}

// ListsOf returns the lists of constants in each of which the value of a column is, in every row: an inner join equates it
// with a column of a relation of constants that has its type.
func (r *resolved) ListsOf(c *scalar.Column) (lists []scalar.Expr) {
	for _, p := range slices.Concat(innerPairs(r.root), equalities(r.where)) {
		for _, q := range []pair{p, {p.b, p.a}} {
			if home := r.home[q.b]; q.a.Base() == c.Base() && home != nil && home.listed && q.a.Type.OID == q.b.Type.OID {
				lists = append(lists, q.b.List)
			}
		}
	}
	return lists
}

// AllConjuncts returns the conjuncts of derived tables that are no UNION ALL, their HAVING, and
// after them, as they can guard them, those of this level.
func (r *resolved) AllConjuncts() []scalar.Expr {
	var out []scalar.Expr
	for _, rel := range kept(r.root) {
		if rel.rows != nil && len(rel.rows.branches) == 1 {
			b := rel.rows.branches[0]
			out = append(out, b.source.AllConjuncts()...)
			if b.having != nil {
				out = append(out, b.having)
			}
		}
	}
	return append(out, r.Conjuncts()...)
}

// kept returns the relations that have a row in every row of the item.
func kept(n node) []*relation {
	j, ok := n.(*joined)
	switch {
	case !ok:
		return relationsOf(n)
	case j.outer || j.declares:
		return kept(j.left)
	}
	return slices.Concat(kept(j.left), kept(j.right))
}

// innerPairs returns the equalities of all joins that drop rows without a match.
func innerPairs(n node) []pair {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	below := slices.Concat(innerPairs(j.left), innerPairs(j.right))
	if j.outer || j.declares {
		return below
	}
	return append(below, equalities(j.on)...)
}

func (d *domain) keeps(r *relation) bool { return d.wanted[r] != nil }

// covers reports whether the condition is over kept public relations and constants alone.
func (d *domain) covers(c condition) bool {
	if c.query {
		return false
	}
	for _, col := range c.x.Columns() {
		if !d.has(col) {
			return false
		}
	}
	return true
}

// has reports whether the column is written.
func (d *domain) has(c *scalar.Column) bool {
	for r, shown := range d.wanted {
		if r.protected() && slices.Contains(shown, c) || !r.protected() && slices.Contains(r.columns, c) {
			return true
		}
	}
	return false
}

// inside returns the conditions, and parts of them, on columns that are written alone. A column
// that equals one that is not written is at least not NULL.
func (d *domain) inside(conds []condition) []condition {
	var in []condition
	for _, c := range conds {
		if d.covers(c) {
			in = append(in, c)
			continue
		}
		for _, p := range equalities([]condition{c}) {
			for _, col := range []*scalar.Column{p.a, p.b} {
				if d.has(col) && !col.NotNull {
					in = append(in, condition{x: scalar.NotNull(col)})
				}
			}
		}
	}
	return in
}

// where writes conditions as the client meant them. One that only the protected database
// can evaluate is left out, and whole is false: there are more groups then, not fewer.
func (d *domain) where(conds []condition) (sql string, whole bool) {
	var parts []string
	for _, c := range conds {
		if sql, ok := scalar.Native(c.x, (*scalar.Column).Read, d.constants); ok {
			parts = append(parts, sql)
		}
	}
	if len(parts) == 0 {
		return "TRUE", len(conds) == 0
	}
	return strings.Join(parts, " AND "), len(parts) == len(conds)
}

// node writes the kept part of an item; conds must hold on its rows.
func (d *domain) node(n node) (text string, conds []condition, err error) {
	j, ok := n.(*joined)
	if !ok {
		r := relationsOf(n)[0]
		if !d.keeps(r) {
			return "", nil, nil
		}
		text, err = d.relation(r)
		return text, nil, err
	}
	left, lc, err := d.node(j.left)
	if err != nil {
		return "", nil, err
	}
	right, rc, err := d.node(j.right)
	if err != nil {
		return "", nil, err
	}
	kept := d.inside(j.on)
	switch {
	case right == "" && (j.outer || j.declares):
		return left, lc, nil
	case right == "":
		return left, slices.Concat(lc, kept), nil
	case j.outer:
		return d.outerJoin(j, left, right, rc), lc, nil
	case left == "":
		return right, slices.Concat(rc, kept), nil
	case j.declares:
		on, _ := d.where(slices.Concat(rc, kept))
		return left + "\n  LEFT JOIN " + right + " ON " + on, lc, nil
	}
	return left + "\n  CROSS JOIN " + right, slices.Concat(lc, rc, kept), nil
}

// outerJoin writes a join that keeps the rows of its left side, of which nothing may be
// written. Each has its matches, and none where public rows alone do not decide that.
func (d *domain) outerJoin(j *joined, left, right string, below []condition) string {
	on, whole := d.where(slices.Concat(below, d.inside(j.on)))
	r, single := j.right.(*relation)
	outside := func(c condition) bool { return !d.covers(c) }
	if left != "" && whole && single && !r.protected() && !slices.ContainsFunc(j.on, outside) {
		return left + "\n  LEFT JOIN " + right + " ON " + on
	}
	d.doubled++
	m := "m" + strconv.Itoa(d.doubled)
	if left != "" {
		left += "\n  CROSS JOIN "
	}
	return left + "(VALUES (TRUE), (FALSE)) AS " + m + "(matched)\n  LEFT JOIN " + right + " ON " + m + ".matched AND " + on
}

// relation writes a public relation, or the public part of a derived table.
func (d *domain) relation(r *relation) (string, error) {
	if r.listed {
		sql, err := listSQL(r, d.w)
		return sql + " AS " + r.alias, err
	}
	if r.rows == nil {
		d.failed = d.failed || r.protected()
		return tableSQL(r) + " AS " + r.alias, nil
	}
	if !r.protected() {
		q, err := (&sourceWriter{level: d.level, w: d.w}).derived(r)
		if err != nil {
			return d.native(r, err)
		}
		return "(" + q.SQL() + ") AS " + r.alias, nil
	}
	var texts []string
	for n, b := range r.rows.branches {
		text, ok, err := d.branch(r, b, n)
		if err != nil {
			return "", err
		}
		d.failed = d.failed || !ok
		texts = append(texts, text)
	}
	return "(" + strings.Join(texts, "\n  UNION ALL ") + ") AS " + r.alias, nil
}

// native writes a public derived table with Postgres's own expressions: where the protected database needs values of
// constants to be sure that nothing raises, the mirror does not. otherwise is the error if it cannot be.
func (d *domain) native(r *relation, otherwise error) (string, error) {
	b := r.rows.branches[0]
	var below []*scalar.Column
	var list []string
	for i, x := range b.targets {
		sql, ok := scalar.Native(x, (*scalar.Column).Read, d.constants)
		if !ok {
			return "", otherwise
		}
		below = append(below, x.Columns()...)
		list = append(list, sql+" AS c"+strconv.Itoa(i+1))
	}
	from, where, ok, err := publicPart(b.source, d.w, d.constants, below)
	if !ok || err != nil {
		return "", otherwise
	}
	return "(SELECT " + strings.Join(list, ", ") + "\n  FROM " + from + "\n  WHERE " + where + ") AS " + r.alias, nil
}

// branch writes the public columns of one branch.
func (d *domain) branch(r *relation, b *branch, n int) (text string, ok bool, err error) {
	var below []*scalar.Column
	var list []string
	for i, c := range r.columns {
		if !slices.Contains(d.wanted[r], c) {
			continue
		}
		if _, plain := b.targets[i].(*scalar.Ref); !plain {
			return "", false, nil
		}
		below = append(below, b.targets[i].Columns()...)
		sql, err := d.w.Target(c, n)
		if err != nil {
			return "", false, err
		}
		list = append(list, sql+" AS c"+strconv.Itoa(i+1))
	}
	from, where, ok, err := publicPart(b.source, d.w, d.constants, below)
	return "SELECT DISTINCT " + strings.Join(list, ", ") + "\n  FROM " + from + "\n  WHERE " + where, ok && len(list) > 0, err
}
