package source

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/scalar"
)

// A PublicPart is SQL for the mirror that has every value that some columns can show together: the public relations that they come from,
// joined with those that equalities connect with them, under every condition over them alone. The columns are called as in the source
// itself, but columns of protected relations that inner joins make identical to public ones are called as Renamed says.
//
// The nullable side of an outer join shows NULL as well, in all its columns at once. Where
// protected rows decide which rows have a match, both are among the values: with and
// without. Rows that a condition takes out of either are in neither.
type PublicPart struct {
	From, Where string
	Renamed     map[*scalar.Column]*scalar.Column
	// Declared are the columns of protected relations whose declared values or bounds are among the conditions: rows whose values are
	// others are not among those that are shown.
	Declared []*scalar.Column
	// Later says that a condition is left out which can be written when the values of constants are known.
	Later bool
}

// PublicPart returns the part of the source that shows some columns; ok is false if one of them does not show values of a public relation.
// constants are written as the client's, and w writes others.
func (s *Source) PublicPart(w *scalar.Writer, constants scalar.Inlined, cols []*scalar.Column) (part PublicPart, ok bool, err error) {
	return publicPart(s.level, w, constants, cols)
}

// Found writes IN or EXISTS of public rows, in the source or in a derived table of it, for the mirror. The writer renames the columns of
// the row around it.
func (s *Source) Found(w *scalar.Writer, constants scalar.Inlined, q *scalar.Query) (sql string, ok bool) {
	if !s.Decided(q) {
		return "", false
	}
	in := subselectOf(levelOf(s.level, q), q).inner
	sql, later, ok := onMirror(in, w, constants)
	if !ok || later {
		return "", false
	}
	for _, c := range tying(in) {
		if w.Env.Unsettled(c.x) {
			continue
		}
		if tied, err := w.Expr(c.x); err == nil {
			sql += " AND " + tied
		}
	}
	return sql + ")", true
}

// Decided reports whether a condition of the source, or of a derived table in it, is IN or EXISTS, of public rows alone.
func (s *Source) Decided(q *scalar.Query) bool {
	at := levelOf(s.level, q)
	return at != nil && decidedByPublic(at, q)
}

// SharesPublicPart reports whether the part that shows some columns has relations of the part that shows others.
func (s *Source) SharesPublicPart(cols, others []*scalar.Column) bool {
	return sharesPublicPart(s.level, cols, others)
}

func sharesPublicPart(l *level, cols, others []*scalar.Column) bool {
	d, ok := domainOf(l, cols)
	o, also := domainOf(l, others)
	if !ok || !also {
		return false
	}
	for r := range d.wanted {
		if o.keeps(r) {
			return true
		}
	}
	return false
}

func domainOf(l *level, cols []*scalar.Column) (d *domain, ok bool) {
	d = &domain{level: l, wanted: map[*relation][]*scalar.Column{}}
	for _, c := range cols {
		shown := l.shown(c)
		if shown == nil {
			return nil, false
		}
		r := l.home[shown]
		d.wanted[r] = append(d.wanted[r], shown)
	}
	d.connect()
	return d, true
}

func publicPart(l *level, w *scalar.Writer, constants scalar.Inlined, cols []*scalar.Column) (part PublicPart, ok bool, err error) {
	d, ok := domainOf(l, cols)
	if !ok {
		return part, false, nil
	}
	d.w, d.constants = w, constants
	d.ties, d.renamed = map[*scalar.Column]*scalar.Column{}, map[*scalar.Column]*scalar.Column{}
	d.tie(l.classes())
	below := d.tieBelow()
	from, conds, err := d.node(l.root)
	if err != nil || from == "" || d.failed {
		return part, false, err
	}
	where, _ := d.where(d.inside(slices.Concat(conds, below, l.where), l.root))
	where = and(d.declared(l.classes()), where)
	return PublicPart{From: from, Where: where, Renamed: d.renamed, Declared: d.restricting, Later: d.later}, true, nil
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
	// ties are the columns of relations that are kept to which other columns are identical; renamed are these as they are written.
	ties        map[*scalar.Column]*scalar.Column
	renamed     map[*scalar.Column]*scalar.Column
	restricting []*scalar.Column
	later       bool
}

// connect keeps every public relation that equalities connect with one that is kept, be it by way of columns of protected relations; and
// every one by whose columns an outer join finds the rows of one that is kept.
func (d *domain) connect() {
	kept := func(c *scalar.Column) bool { r := d.level.home[c]; return r != nil && d.keeps(r) }
	classes, found := d.level.classes(), d.level.lookedUp(d.level.root)
	for again := true; again; {
		again = false
		for _, p := range found {
			if r := d.level.home[p.b]; kept(p.a) && r != nil && !r.protected() && !d.keeps(r) {
				d.wanted[r], again = []*scalar.Column{}, true
			}
		}
		for _, class := range classes {
			if !slices.ContainsFunc(class, kept) {
				continue
			}
			for _, c := range class {
				if r := d.level.home[c]; r != nil && !r.protected() && !d.keeps(r) {
					d.wanted[r], again = []*scalar.Column{}, true
				}
			}
		}
	}
}

func (d *domain) keeps(r *relation) bool { return d.wanted[r] != nil }

// covers reports whether the condition is over kept public relations, columns that are identical to theirs, and constants alone; within is
// the item of FROM around the condition.
func (d *domain) covers(c condition, within node) bool {
	if q, alone := c.x.(*scalar.Query); c.query && (!alone || !decidedByPublic(d.level, q)) {
		return false
	}
	for _, col := range c.x.Columns() {
		if !d.has(col, within) {
			return false
		}
	}
	return true
}

// as returns the column that is written for a column.
func (d *domain) as(c *scalar.Column) *scalar.Column {
	if as := d.ties[c]; as != nil {
		return as
	}
	return c
}

// has reports whether a column, or one that is identical to it within an item of FROM, is written.
func (d *domain) has(c *scalar.Column, within node) bool {
	return slices.Contains(relationsOf(within), d.level.home[d.as(c)]) && d.written(d.as(c))
}

// written reports whether a column is written.
func (d *domain) written(c *scalar.Column) bool {
	for r, shown := range d.wanted {
		if r.protected() && slices.Contains(shown, c) || !r.protected() && slices.Contains(r.columns, c) {
			return true
		}
	}
	return false
}

// inside returns the conditions, and parts of them, on columns that are written alone. A column
// that equals one that is not written is at least not NULL.
func (d *domain) inside(conds []condition, within node) []condition {
	has := func(c *scalar.Column) bool { return d.has(c, within) }
	var in []condition
	for _, c := range conds {
		a, b, equal := scalar.Equality(c.x)
		covered := d.covers(c, within)
		switch part := scalar.Within(c.x, has); {
		case covered && equal && d.as(a) == d.as(b):
		case covered:
			in = append(in, c)
			continue
		case part != nil && !c.query:
			in = append(in, condition{x: part})
		}
		for _, p := range equalities([]condition{c}) {
			shown := []*scalar.Column{d.as(p.a), d.as(p.b)}
			for _, col := range slices.Compact(shown) {
				if has(col) && !col.NotNull {
					in = append(in, condition{x: scalar.NotNull(col)})
				}
			}
		}
	}
	return in
}

// where writes conditions as the client meant them, or, on columns that are identical to others, as they are written for the protected
// database. One that only the protected database can evaluate is left out, and whole is false: there are more groups then, not fewer.
func (d *domain) where(conds []condition) (sql string, whole bool) {
	var parts []string
	for _, c := range conds {
		if sql, ok := d.condition(c.x); ok {
			parts = append(parts, sql)
		}
	}
	if len(parts) == 0 {
		return "TRUE", len(conds) == 0
	}
	return strings.Join(parts, " AND "), len(parts) == len(conds)
}

// condition writes a condition.
func (d *domain) condition(x scalar.Expr) (sql string, ok bool) {
	if q, asks := x.(*scalar.Query); asks {
		return d.found(q)
	}
	if !slices.ContainsFunc(x.Columns(), func(c *scalar.Column) bool { return d.ties[c] != nil }) {
		return scalar.Native(x, (*scalar.Column).Read, d.constants)
	}
	w := *d.w
	w.Renamed = d.renamed
	sql, err := w.Expr(x)
	d.later = d.later || err != nil
	return sql, err == nil
}

// node writes the kept part of an item. conds are conditions that hold on its rows, of which the written ones must be written.
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
	switch {
	case right == "" && (j.outer || j.declares):
		return left, lc, nil
	case right == "":
		return left, slices.Concat(lc, rc, j.on), nil
	case j.keepsPublic():
		return d.outerJoin(j, left, right, rc), lc, nil
	case left == "":
		return right, slices.Concat(lc, rc, j.on), nil
	case j.declares:
		on, _ := d.where(d.inside(slices.Concat(rc, j.on), j))
		return left + "\n  LEFT JOIN " + right + " ON " + on, lc, nil
	}
	return left + "\n  CROSS JOIN " + right, slices.Concat(lc, rc, j.on), nil
}

// outerJoin writes a join that keeps the rows of its left side, of which nothing may be
// written. Each has its matches, and none where public rows alone do not decide that.
func (d *domain) outerJoin(j *joined, left, right string, below []condition) string {
	r, single := j.right.(*relation)
	outside := func(c condition) bool { return c.query || !d.covers(c, j) }
	decided := left != "" && single && !r.protected() && !slices.ContainsFunc(j.on, outside)
	on, whole := d.on(j, below)
	if decided && whole {
		return left + "\n  LEFT JOIN " + right + " ON " + on
	}
	d.doubled++
	m := "m" + strconv.Itoa(d.doubled)
	if left != "" {
		left += "\n  CROSS JOIN "
	}
	return left + "(VALUES (TRUE), (FALSE)) AS " + m + "(matched)\n  LEFT JOIN " + right + " ON " + m + ".matched AND " + on
}

// on writes the conditions of a join that keeps the rows of its left side. Where all of them are true, columns are identical that they
// equate. Columns of relations that are joined later stand in none of them.
func (d *domain) on(j *joined, below []condition) (sql string, whole bool) {
	ties, renamed := d.ties, d.renamed
	defer func() { d.ties, d.renamed = ties, renamed }()
	d.ties, d.renamed = maps.Clone(ties), maps.Clone(renamed)
	for c, as := range ties {
		if !slices.Contains(relationsOf(j), d.level.home[as]) {
			delete(d.ties, c)
			delete(d.renamed, c)
		}
	}
	classes := d.level.classesOf(equalities(j.on))
	d.tie(classes)
	sql, whole = d.where(d.inside(slices.Concat(below, j.on), j))
	return and(d.declared(classes), sql), whole
}

// and adds conditions to one that is TRUE if there are no others.
func and(conds []string, to string) string {
	if to != "TRUE" {
		conds = append(conds, to)
	}
	return cmp.Or(strings.Join(conds, " AND "), "TRUE")
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
	part, ok, err := publicPart(b.source, d.w, d.constants, below)
	if !ok || err != nil {
		return "", otherwise
	}
	return "(SELECT " + strings.Join(list, ", ") + "\n  FROM " + part.From + "\n  WHERE " + part.Where + ") AS " + r.alias, nil
}

// branch writes the public columns of one branch: the values of columns that nothing connects apart from each other, so that only different
// ones are multiplied.
func (d *domain) branch(r *relation, b *branch, n int) (text string, ok bool, err error) {
	var apart [][]int
	for i, c := range r.columns {
		if !slices.Contains(d.wanted[r], c) {
			continue
		}
		if _, plain := b.targets[i].(*scalar.Ref); !plain {
			return "", false, nil
		}
		with := slices.IndexFunc(apart, func(part []int) bool {
			return sharesPublicPart(b.source, b.targets[part[0]].Columns(), b.targets[i].Columns())
		})
		if with < 0 {
			with, apart = len(apart), append(apart, nil)
		}
		apart[with] = append(apart[with], i)
	}
	var parts []string
	for _, columns := range apart {
		text, ok, err := d.different(r, b, n, columns)
		if !ok || err != nil {
			return "", false, err
		}
		parts = append(parts, text)
	}
	switch len(parts) {
	case 0:
		return "", false, nil
	case 1:
		return parts[0], true, nil
	}
	var list []string
	for i, c := range r.columns {
		if slices.Contains(d.wanted[r], c) {
			list = append(list, "c"+strconv.Itoa(i+1))
		}
	}
	for i := range parts {
		parts[i] = "(" + parts[i] + ") AS v" + strconv.Itoa(i+1)
	}
	return "SELECT " + strings.Join(list, ", ") + "\n  FROM " + strings.Join(parts, "\n  CROSS JOIN "), true, nil
}

// different writes the values that some columns of a branch show together.
func (d *domain) different(r *relation, b *branch, n int, columns []int) (text string, ok bool, err error) {
	var below []*scalar.Column
	for _, i := range columns {
		below = append(below, b.targets[i].Columns()...)
	}
	part, ok, err := publicPart(b.source, d.w, d.constants, below)
	if !ok || err != nil {
		return "", false, err
	}
	d.restricting = append(d.restricting, part.Declared...)
	w := *d.w
	w.Renamed = part.Renamed
	var list []string
	for _, i := range columns {
		sql, err := w.Target(r.columns[i], n)
		if err != nil {
			return "", false, err
		}
		list = append(list, sql+" AS c"+strconv.Itoa(i+1))
	}
	return "SELECT DISTINCT " + strings.Join(list, ", ") + "\n  FROM " + part.From + "\n  WHERE " + part.Where, true, nil
}
