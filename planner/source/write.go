package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// Keyed writes the order, which only the secret knows, in which the rows of a unit are kept before
// a join. It depends on the bytes of a message alone.
type Keyed interface {
	JoinOrder(message string) string
}

// A sourceWriter writes the levels of one block.
type sourceWriter struct {
	level *level
	w     *scalar.Writer
	keyed Keyed
	// notNull are columns that are not NULL in rows of the joins that are meant, mentioned
	// others of its tables; rest are conditions on these rows.
	notNull, touch, residual []string
}

// Write writes the level for SELECT ... FROM <from> WHERE <where>. keyed may be nil for a
// sub-select of a condition, where nothing is cut.
func (l *level) Write(w *scalar.Writer, keyed Keyed) (from, where string, err error) {
	from, where, err = l.writeLevel(w, keyed)
	if err != nil || l.match == nil {
		return from, where, err
	}
	match, err := l.writer(w).Expr(l.match)
	return from, conjoined(where, match), err
}

func (l *level) writeLevel(w *scalar.Writer, keyed Keyed) (from, where string, err error) {
	p := &sourceWriter{level: l, w: l.writer(w), keyed: keyed}
	if from, err = p.node(l.root, l.where); err != nil {
		return "", "", err
	}
	var parts []string
	for _, r := range region(l.root) {
		if r.rows == nil && r.protected() && !p.followed(r) && p.rowsPerUnit(r) == 0 && !r.unit.NotNull {
			parts = append(parts, r.unit.Read()+" IS NOT NULL")
		}
	}
	conds, err := p.conditions(l.where)
	return from, p.where(append(parts, conds...)), err
}

func conjoined(a, b string) string { return a + " AND " + b }

func (p *sourceWriter) conditions(conds []condition) ([]string, error) {
	var out []string
	for _, c := range conds {
		sql, err := p.w.Expr(c.x)
		if err != nil {
			return nil, err
		}
		out = append(out, sql)
	}
	return out, nil
}

// node writes an item of FROM. conds are conditions that its rows must meet in any
// case: what is cut is chosen among those that do.
func (p *sourceWriter) node(n node, conds []condition) (string, error) {
	switch n := n.(type) {
	case *relation:
		return p.relation(n, conds)
	case *joined:
		return p.join(n, conds)
	}
	return "", nil
}

func (p *sourceWriter) join(j *joined, conds []condition) (string, error) {
	below := slices.Concat(conds, j.on)
	onLeft, onRight := below, below
	if j.outer {
		onLeft, onRight = conds, j.on
	}
	left, err := p.node(j.left, onLeft)
	if err != nil {
		return "", err
	}
	inner := p
	if j.outer {
		inner = &sourceWriter{level: p.level, w: p.w, keyed: p.keyed}
	}
	right, err := inner.node(j.right, onRight)
	if err != nil {
		return "", err
	}
	if p.compound(j.right) {
		right = "(" + right + ")"
	}
	onMatches := func(rest []string) []string {
		if len(rest)+len(inner.residual)+len(inner.notNull)+len(inner.touch) == 0 {
			return nil
		}
		return []string{inner.where(rest)}
	}
	if text, ok, err := p.readBothSides(j, left, right, onMatches, below); ok || err != nil {
		return text, err
	}
	on, err := p.conditions(j.on)
	if err != nil {
		return "", err
	}
	if j.outer {
		on = onMatches(on)
	}
	return p.plain(j, left, right, on, conds)
}

// plain writes a join as it is.
func (p *sourceWriter) plain(j *joined, left, right string, on []string, conds []condition) (string, error) {
	if p.keyed != nil && !j.outer {
		both, err := p.between(j, conds)
		if err != nil {
			return "", err
		}
		on = append(on, both...)
	}
	switch {
	case j.outer && len(on) == 0:
		return left + " LEFT JOIN " + right + " ON TRUE", nil
	case j.outer:
		return left + " LEFT JOIN " + right + " ON " + strings.Join(on, " AND "), nil
	case len(on) == 0:
		return left + " CROSS JOIN " + right, nil
	}
	return left + " JOIN " + right + " ON " + strings.Join(on, " AND "), nil
}

// compound reports whether the text of a node is a join.
func (p *sourceWriter) compound(n node) bool {
	r, ok := n.(*relation)
	return !ok || p.rowsPerUnit(r) == 0 && len(p.hops(r)) > 0
}

func (p *sourceWriter) relation(r *relation, conds []condition) (string, error) {
	if p.rowsPerUnit(r) == 0 {
		return p.uncut(r)
	}
	inner := &sourceWriter{level: p.level, w: p.w, keyed: p.keyed}
	text, err := inner.uncut(r)
	if err != nil {
		return "", err
	}
	return inner.boundBeforeJoin(r, text, conds)
}

func (p *sourceWriter) uncut(r *relation) (string, error) {
	switch {
	case r.rows != nil:
		query, err := p.derived(r)
		return "(" + query + ") AS " + r.alias, err
	case p.rowsPerUnit(r) > 0: // the unit is needed, whoever else has it
		return p.scan(r, r.hops), nil
	}
	return p.scan(r, p.hops(r)), nil
}

func tableSQL(r *relation) string {
	only := ""
	if r.only {
		only = "ONLY "
	}
	return only + r.table.SQL() + " AS " + r.alias
}

// derived writes a query in FROM: the unit, and the columns that are used. The others
// matter to DISTINCT alone.
func (p *sourceWriter) derived(r *relation) (string, error) {
	var texts []string
	for n, b := range r.rows.branches {
		text, err := p.branch(r, b, n)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " UNION ALL "), nil
}

func (p *sourceWriter) branch(r *relation, b *branch, n int) (string, error) {
	from, where, err := b.source.Write(p.w, p.keyed)
	if err != nil {
		return "", err
	}
	w, keys, err := b.source.writer(p.w).Grouped(b.keys)
	if err != nil {
		return "", err
	}
	list, err := p.targets(r, w, b, n)
	if err != nil {
		return "", err
	}
	distinct := ""
	if b.distinct {
		distinct = "DISTINCT "
	}
	text := "SELECT " + distinct + strings.Join(list, ", ") + " FROM " + from + " WHERE " + where
	if !b.grouped {
		return text, nil
	}
	by := []string{b.source.Unit().Read()}
	for _, k := range keys {
		if !slices.Contains(by, k) {
			by = append(by, k)
		}
	}
	text += " GROUP BY " + strings.Join(by, ", ")
	if b.having == nil {
		return text, nil
	}
	having, err := w.Expr(b.having)
	return text + " HAVING " + having, err
}

// targets writes the SELECT list of a branch.
func (p *sourceWriter) targets(r *relation, w *scalar.Writer, b *branch, n int) ([]string, error) {
	var list []string
	if r.unit != nil {
		list = append(list, b.source.Unit().Read()+" AS u")
	}
	for i, c := range r.columns {
		if !p.mentioned(c) && !b.distinct {
			continue
		}
		sql, err := b.target(w, c, n)
		if err != nil {
			return nil, err
		}
		list = append(list, sql+" AS c"+strconv.Itoa(i+1))
	}
	if len(list) == 0 {
		list = []string{"1 AS one"}
	}
	return list, nil
}

// target writes what a column stands for. A long text passes as it is, to be read where its
// value matters.
func (b *branch) target(w *scalar.Writer, c *scalar.Column, n int) (string, error) {
	if col, plain := scalar.PlainColumn(c.Of[n]); plain && c.Reach == scalar.Beginning && col.Reach == c.Reach && !b.grouped && !b.distinct {
		return col.SQL, nil
	}
	return w.Target(c, n)
}

// boundBeforeJoin writes the rows of a relation, at most so many of each unit: where there are more,
// in an order that depends on the rows and the secret alone. Rows that are equal in all
// columns that the block uses are as good as each other.
func (p *sourceWriter) boundBeforeJoin(r *relation, text string, conds []condition) (string, error) {
	unit := r.rawUnit()
	where := []string{unit + " IS NOT NULL"}
	for _, c := range conds {
		if c.query || len(c.x.Columns()) == 0 || slices.ContainsFunc(c.x.Columns(), func(col *scalar.Column) bool { return !slices.Contains(r.columns, col) }) {
			continue
		}
		sql, err := p.w.Expr(c.x)
		if err != nil {
			return "", err
		}
		where = append(where, sql)
	}
	u, n, o := r.unitAlias(), r.fresh("n"), r.fresh("o")
	columns := []string{unit + " AS " + u}
	bytes := []string{scalar.Canonical(p.w.Physical(r.unit), u)}
	for _, c := range r.columns {
		if !p.mentioned(c) && c != r.unit {
			continue
		}
		name := r.outputName(c)
		if name != u {
			columns = append(columns, r.alias+"."+name)
		}
		bytes = append(bytes, scalar.Spelled(p.w.Physical(c), c.Reach.Read(name)))
	}
	columns = append(columns, "pg_catalog.count(*) OVER (PARTITION BY "+unit+") AS "+n)
	message := sqltext.Concatenated(bytes)
	most := p.rowsPerUnit(r)
	many := fmt.Sprintf("CASE WHEN %s > %d THEN ", n, most)
	return fmt.Sprintf("(SELECT m.* FROM (SELECT m.*, pg_catalog.row_number() OVER (PARTITION BY %s ORDER BY %s%s END, %s%s END) AS %s FROM (SELECT %s FROM %s WHERE %s) AS m) AS m WHERE %s <= %d) AS %s",
		u, many, p.keyed.JoinOrder(message), many, message, o, strings.Join(columns, ", "), text, p.where(where), o, most, r.alias), nil
}

// outputName is the name of a column of the relation in its sub-select.
func (r *relation) outputName(c *scalar.Column) string {
	if r.rows == nil {
		return ast.QuoteIdent(c.Name)
	}
	return strings.TrimPrefix(c.SQL, r.alias+".")
}

// rawUnit writes the unit where the relation is read.
func (r *relation) rawUnit() string {
	if r.rows != nil || len(r.hops) == 0 {
		return r.unit.Read()
	}
	return r.hops[len(r.hops)-1].sql(r.table.Unit.Column)
}

// unitAlias names the unit in a sub-select of the relation.
func (r *relation) unitAlias() string {
	if r.rows != nil {
		return "u"
	}
	return r.fresh("u")
}

// fresh returns a name that no column has. Where it is one of a hidden column it ends with
// what is not shown.
func (r *relation) fresh(name string) string {
	for r.rows == nil && r.column(name) != nil {
		if r.table.Hides(name) {
			name += unshown
		} else {
			name += "_"
		}
	}
	return name
}

// mentioned reports whether the block mentions a column of the level.
func (p *sourceWriter) mentioned(c *scalar.Column) bool { return p.level.mentions.seen[c] }

// hops are the tables of the path to the unit that the statement does not have itself.
func (p *sourceWriter) hops(r *relation) []*relation { return p.level.follows.hops(r) }

// followed reports whether the statement joins a table along its path.
func (p *sourceWriter) followed(r *relation) bool { return p.level.follows[r] != nil }

// rowsPerUnit bounds the rows of a unit before they are joined; 0 keeps all.
func (p *sourceWriter) rowsPerUnit(r *relation) int64 { return p.level.rowsPerUnit[r] }

// writtenUnit is the column of the unit as SQL around the relation has it.
func (p *sourceWriter) writtenUnit(r *relation) *scalar.Column { return p.level.unitOf(r) }
