package source

import (
	"maps"
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

// A sourceWriter writes the levels of one block as they are meant, and notes for [sqltext.Even]
// whose rows are read and how the sides of a join hang together.
type sourceWriter struct {
	level *level
	w     *scalar.Writer
	keyed Keyed
	// raised are conditions with sub-selects, of joins on the inner side of an outer join: they are part of its own.
	raised []string
}

// Write writes the level as a query, whose SELECT list is the caller's.
func (l *level) Write(w *scalar.Writer, keyed Keyed) (*sqltext.Select, error) {
	return l.WriteWhere(w, keyed, nil)
}

// WriteWhere is Write for the rows that meet more conditions, for what the level means: no plan reads these rows.
func (l *level) WriteWhere(w *scalar.Writer, keyed Keyed, more []scalar.Expr) (*sqltext.Select, error) {
	p, where := &sourceWriter{level: l, w: l.writer(w), keyed: keyed}, slices.Clip(l.where)
	for _, x := range more {
		where = append(where, condition{x: x})
	}
	return p.rows(where)
}

// Filters reports whether the rows that meet further conditions are those that a statement with these conditions in WHERE reads: no row is
// left out before conditions are looked at.
func (l *level) Filters() bool {
	return !l.declares && !slices.ContainsFunc(l.relations, func(r *relation) bool { return l.rowsPerUnit[r] > 0 })
}

// writer writes expressions over the rows of the level.
func (l *level) writer(w *scalar.Writer) *scalar.Writer {
	own := *w
	own.Query, own.Own, own.Renamed = l.WriteQuery, l, renamed(l)
	maps.Copy(own.Renamed, w.Renamed)
	return &own
}

// rows writes the rows of the level that meet conditions.
func (p *sourceWriter) rows(conds []condition) (*sqltext.Select, error) {
	root := p.level.root
	from, err := p.node(root, conds)
	if err == nil {
		from, err = p.joinSides(root, from, p.sidesOfRows())
	}
	if err != nil {
		return nil, err
	}
	where := []string{}
	for _, r := range region(root) {
		if r.rows == nil && r.protected() && !p.followed(r) && p.rowsPerUnit(r) == 0 && !r.unit.NotNull {
			where = append(where, r.unit.Read()+" IS NOT NULL")
		}
	}
	met, err := p.conditions(conds)
	if err != nil {
		return nil, err
	}
	looks, err := p.looks()
	return &sqltext.Select{From: from, Where: append(slices.Clip(where), met...), Looks: looks}, err
}

func (p *sourceWriter) conditions(conds []condition) ([]string, error) {
	if len(conds) == 0 {
		return nil, nil
	}
	return p.w.All(exprs(conds))
}

// node writes an item of FROM. conds are conditions that its rows must meet in any
// case: what is cut is chosen among those that do.
func (p *sourceWriter) node(n node, conds []condition) (sqltext.Item, error) {
	switch n := n.(type) {
	case *relation:
		return p.relation(n, conds)
	case *joined:
		return p.join(n, conds)
	}
	return nil, nil //nolint:nilnil // there are no other nodes
}

func (p *sourceWriter) join(j *joined, conds []condition) (sqltext.Item, error) {
	below := slices.Concat(conds, j.on)
	onLeft, onRight, kind := below, below, sqltext.Inner
	if j.outer {
		onLeft, onRight, kind = conds, j.on, sqltext.Left
	}
	left, err := p.node(j.left, onLeft)
	if err != nil {
		return nil, err
	}
	right, err := p.node(j.right, onRight)
	if err != nil {
		return nil, err
	}
	plain, asking := byQueries(j.on)
	on, err := p.conditions(plain)
	if err != nil {
		return nil, err
	}
	if j.outer {
		on, p.raised = append(on, p.raised...), nil
	}
	join := &sqltext.Join{Kind: kind, Left: left, Right: right, On: on}
	if err := p.annotate(join, j, onRight, conds); err != nil || len(asking) == 0 {
		return join, err
	}
	raised, err := p.conditions(asking)
	if err != nil {
		return nil, err
	}
	p.raised = append(p.raised, raised...)
	return p.joinSides(j, join, p.sidesOf(asking))
}

func (p *sourceWriter) relation(r *relation, conds []condition) (sqltext.Item, error) {
	own, err := p.own(r, conds)
	if err != nil {
		return nil, err
	}
	item, err := p.uncut(r, own)
	if err != nil || p.rowsPerUnit(r) == 0 {
		return item, err
	}
	return p.boundBeforeJoin(r, item, own.sql)
}

func (p *sourceWriter) uncut(r *relation, own ownConditions) (sqltext.Item, error) {
	switch {
	case r.rows != nil:
		query, err := p.derived(r)
		return &sqltext.Query{Select: query, As: r.alias, Own: own.sql, Most: own.most()}, err
	case r.listed:
		return p.listItem(r, own.sql)
	case p.rowsPerUnit(r) > 0: // the unit is needed, whoever else has it
		return scan(r, r.hops, own), nil
	}
	return scan(r, p.hops(r), own), nil
}

// scan writes a table, joined with those on the path to its unit.
func scan(r *relation, hops []*relation, own ownConditions) sqltext.Item {
	var item sqltext.Item = &sqltext.Table{
		SQL: tableSQL(r), As: r.alias, Protected: r.protected(), Own: own.sql, Most: own.most(), Few: own.few(),
	}
	from := r
	for i, h := range hops {
		join := &sqltext.Join{Left: item, Right: &sqltext.Table{SQL: tableSQL(h), As: h.alias, Protected: true}}
		step := r.table.Unit.Steps[i]
		for n := range step.From {
			key, foreign := h.sql(step.Key[n]), from.sql(step.From[n])
			equal := key + " OPERATOR(pg_catalog.=) " + foreign
			join.On = append(join.On, equal)
			join.Links = append(join.Links, sqltext.Link{
				SQL: equal, Looked: key + " OPERATOR(pg_catalog.=) ANY (ARRAY[" + foreign + "])",
				Left: sqltext.End{
					Of: from.alias, Present: foreign, Indexed: from.table.Begins(step.From[n]),
					Foreign: refers(from, step.From[n], h, step.Key[n]),
				},
				Right: sqltext.End{Of: h.alias, Present: key, Indexed: len(step.Key) == 1 || h.table.Begins(step.Key[n])},
			})
		}
		item = join
		from = h
	}
	return item
}

// tableSQL writes the relation as SQL for DATA names it in FROM.
func tableSQL(r *relation) string {
	if r.only {
		return "ONLY " + r.table.SQL()
	}
	return r.table.Source.Only() + r.table.SQL()
}

// derived writes a query in FROM: the unit, and the columns that are used. The others
// matter to DISTINCT alone.
func (p *sourceWriter) derived(r *relation) (*sqltext.Select, error) {
	var first *sqltext.Select
	for n, b := range r.rows.branches {
		q, err := p.branch(r, b, n)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = q
		} else {
			first.UnionAll = append(first.UnionAll, q)
		}
	}
	return first, nil
}

func (p *sourceWriter) branch(r *relation, b *branch, n int) (*sqltext.Select, error) {
	q, err := b.source.Write(p.w, p.keyed)
	if err == nil && b.elements != nil {
		err = writeElements(p, q, b)
	}
	if err != nil {
		return nil, err
	}
	w, keys, err := b.source.writer(p.w).Grouped(b.keys)
	if err != nil {
		return nil, err
	}
	if q.Columns, err = p.targets(r, w, b, n); err != nil {
		return nil, err
	}
	q.Distinct = b.distinct
	if !b.grouped {
		return q, b.keepFirst(q, w)
	}
	q.GroupBy = []string{b.source.Unit().Read()}
	for _, k := range keys {
		if !slices.Contains(q.GroupBy, k) {
			q.GroupBy = append(q.GroupBy, k)
		}
	}
	if b.having != nil {
		q.Having, err = w.Condition(b.having)
	}
	return q, err
}

// targets writes the SELECT list of a branch.
func (p *sourceWriter) targets(r *relation, w *scalar.Writer, b *branch, n int) ([]sqltext.Column, error) {
	var list []sqltext.Column
	if r.unit != nil {
		list = append(list, sqltext.Column{SQL: r.unitOf(b), As: sqltext.Unit})
	}
	for i, c := range r.columns {
		if !p.mentioned(c) && !b.distinct {
			continue
		}
		sql, err := b.target(w, c, n)
		if err != nil {
			return nil, err
		}
		list = append(list, sqltext.Column{SQL: sql, As: sqltext.Argument(i)})
	}
	if len(list) == 0 {
		list = []sqltext.Column{{SQL: "1", As: sqltext.One}}
	}
	return list, nil
}

// target writes what a column stands for. A long text passes as it is, to be read where its
// value matters.
func (b *branch) target(w *scalar.Writer, c *scalar.Column, n int) (string, error) {
	col, plain := scalar.PlainColumn(c.Of[n])
	if plain && c.Reach == scalar.Beginning && col.Reach == c.Reach && !b.grouped && !b.distinct {
		return col.SQL, nil
	}
	return w.Target(c, n)
}

// boundBeforeJoin writes the rows of a relation, at most so many of each unit: where there are more,
// in an order that depends on the rows and the secret alone. Rows that are equal in all
// columns that the block uses are as good as each other.
func (p *sourceWriter) boundBeforeJoin(r *relation, item sqltext.Item, own []string) (sqltext.Item, error) {
	where := append([]string{r.rawUnit() + " IS NOT NULL"}, own...)
	unit, u, n, o := r.rawUnit(), r.unitAlias(), r.fresh(sqltext.Count), r.fresh(sqltext.Order)
	columns := []sqltext.Column{{SQL: unit, As: u}}
	bytes := []string{scalar.Canonical(p.w.Physical(r.unit), u)}
	for _, c := range r.columns {
		if !p.mentioned(c) && c != r.unit {
			continue
		}
		name := r.outputName(c)
		if c.Path != nil && r.rows == nil { // it is computed of its column, which is mentioned as well
			bytes = append(bytes, scalar.Spelled(p.w.Physical(c), scalar.ReadField(c, r.outputName(r.documents(c)))))
			continue
		}
		if name != u {
			columns = append(columns, sqltext.Columns(r.alias, name)...)
		}
		bytes = append(bytes, scalar.Spelled(p.w.Physical(c), c.Reach.Read(name)))
	}
	columns = append(columns, sqltext.Column{SQL: "pg_catalog.count(*) OVER (" + partition(unit) + ")", As: n})
	message := sqltext.Concatenated(bytes)
	most := strconv.FormatInt(p.rowsPerUnit(r), 10)
	many := func(order string) string { return "CASE WHEN " + n + " > " + most + " THEN " + order + " END" }
	order := "pg_catalog.row_number() OVER (" + partition(u) +
		" ORDER BY " + many(p.keyed.JoinOrder(message)) + ", " + many(message) + ")"
	counted := &sqltext.Query{As: sqltext.Relation, Select: &sqltext.Select{Columns: columns, From: item, Where: where}}
	ordered := &sqltext.Query{As: sqltext.Relation, Select: &sqltext.Select{
		Columns: append(sqltext.Columns(sqltext.Relation, "*"), sqltext.Column{SQL: order, As: o}), From: counted,
	}}
	return &sqltext.Query{As: r.alias, Select: &sqltext.Select{
		Columns: sqltext.Columns(sqltext.Relation, "*"), From: ordered, Where: []string{o + " <= " + most},
	}}, nil
}

func partition(unit string) string { return "PARTITION BY " + strings.Join(sqltext.Parted(unit), ", ") }

// outputName is the name of a column of the relation in its sub-select.
func (r *relation) outputName(c *scalar.Column) string {
	if r.rows == nil {
		return ast.QuoteIdent(c.Name)
	}
	return strings.TrimPrefix(c.SQL, r.alias+".")
}

// unitOf writes the unit of the rows of a branch, as the relation has it.
func (r *relation) unitOf(b *branch) string {
	sql := b.source.Unit().Read()
	if r.tagged && !b.source.Tagged() {
		return sqltext.OfPerson(sql)
	}
	return sql
}

// rawUnit writes the unit where the relation is read.
func (r *relation) rawUnit() string {
	return r.unit.Read()
}

// unitAlias names the unit in a sub-select of the relation.
func (r *relation) unitAlias() string {
	if r.rows != nil {
		return sqltext.Unit
	}
	return r.fresh(sqltext.Unit)
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

// OwnPartition implements [scalar.Own].
func (l *level) OwnPartition() []string { return sqltext.Parted(l.Unit().Read()) }

// OwnTies implements [scalar.Own]: rows of one unit with one digest are identical in all that the level mentions, the spelling of the
// unit included.
func (l *level) OwnTies(w *scalar.Writer) []string {
	var bytes []string
	for _, c := range l.mentions.columns {
		ref := &scalar.Ref{Column: c}
		if l.home[c] != nil && (!l.IsUnit(ref) || !scalar.OneSpelling(ref)) {
			bytes = append(bytes, scalar.Spelled(w.Physical(c), c.Read()))
		}
	}
	if len(bytes) == 0 {
		return nil
	}
	return []string{"pg_catalog.sha256(" + sqltext.Concatenated(bytes) + ")"}
}
