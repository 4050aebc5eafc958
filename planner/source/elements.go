package source

import (
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// unnest of an array column makes of each row of a relation one for each element. Whose these are is told by the row alone, so
// that the relation with its elements is a derived table of one branch:
//
//	FROM visits v, unnest(v.tags) AS t(tag)  is
//	FROM (SELECT v.*, t.tag FROM visits v CROSS JOIN LATERAL (SELECT unnest(v.tags) AS tag LIMIT 1000) AS t) AS v
//
// No key tells its rows apart, since elements repeat: how many of a unit count is bounded as for any rows. The elements of one array are
// as many as the rows that a join takes, so that no array makes many rows of one.

// An expansion is unnest in FROM, beside the relation whose array it is of.
type expansion struct {
	of *ast.Elements
	// outer says that rows without elements stay.
	outer bool
	// resolved says that the relation has been resolved, with its elements; column is theirs.
	resolved bool
	column   *scalar.Column
}

// A candidate is a relation in FROM before unnest, whose array that may be of.
type candidate struct {
	item ast.From
	// nullable says that an outer join adds rows in which its columns are NULL.
	nullable bool
}

func errNoArray(e *ast.Elements) error {
	return notHere(e.At, "Write it behind the table or sub-select whose column it has: FROM visits v, unnest(v.tags) AS t(tag).",
		"unnest of %q is of no relation before it in FROM", e.Array.Name)
}

// expansions finds the relations of unnest in FROM.
func expansions(model *policy.Model, from ast.From) (map[ast.From]*expansion, error) {
	found := map[ast.From]*expansion{}
	_, err := expandedIn(model, from, nil, found)
	return found, err
}

// expandedIn adds those of an item, and returns its relations. before are those that its unnest may be of as well.
func expandedIn(model *policy.Model, from ast.From, before []candidate, found map[ast.From]*expansion) ([]candidate, error) {
	j, ok := from.(*ast.Join)
	if !ok {
		return []candidate{{item: from}}, nil
	}
	left, err := expandedIn(model, j.Left, before, found)
	if err != nil {
		return nil, err
	}
	inner := j.Kind == ast.Inner || j.Kind == ast.Cross
	if e, ok := j.Right.(*ast.Elements); ok {
		return left, expand(model, j, e, slices.Concat(before, left), found)
	}
	if !inner {
		before = nil
	} else {
		before = slices.Concat(before, left)
	}
	right, err := expandedIn(model, j.Right, before, found)
	if err != nil {
		return nil, err
	}
	outer := func(list []candidate) {
		for i := range list {
			list[i].nullable = true
		}
	}
	if j.Kind == ast.Left || j.Kind == ast.Full {
		outer(right)
	}
	if j.Kind == ast.Right || j.Kind == ast.Full {
		outer(left)
	}
	return slices.Concat(left, right), nil
}

// expand notes the relation of unnest on the right side of a join.
func expand(model *policy.Model, j *ast.Join, e *ast.Elements, among []candidate, found map[ast.From]*expansion) error {
	inner := j.Kind == ast.Inner || j.Kind == ast.Cross
	if j.Natural || len(j.Using) > 0 || !inner && j.Kind != ast.Left || j.Kind == ast.Left && !isTrue(j.On) {
		return notHere(e.At, "Write CROSS JOIN LATERAL unnest(...), or LEFT JOIN LATERAL unnest(...) ON true.",
			"this join with unnest cannot be used on protected data")
	}
	among = slices.DeleteFunc(slices.Clone(among), func(c candidate) bool { return !mayHave(model, c.item, e.Array) })
	switch {
	case len(among) == 0:
		return errNoArray(e)
	case len(among) > 1:
		return notHere(e.At, "Write the relation's name before the column.", "unnest of %q may be of several relations", e.Array.Name)
	case found[among[0].item] != nil:
		return notHere(e.At, "Unnest one of them in a sub-select in FROM.",
			"unnest of two columns of one relation cannot stand in one FROM")
	case inner && among[0].nullable:
		return notHere(e.At, "Put unnest beside the table, in a sub-select in FROM.",
			"unnest of a column that an outer join fills with NULL cannot be used on protected data")
	}
	found[among[0].item] = &expansion{of: e, outer: !inner}
	return nil
}

// isTrue reports whether a condition is the literal.
func isTrue(e ast.Expr) bool {
	c, ok := e.(*ast.Const)
	return ok && c.Kind == ast.Boolean && c.Text == "true"
}

// mayHave reports whether a reference may be to a column of an item of FROM.
func mayHave(model *policy.Model, item ast.From, c *ast.Column) bool {
	named := func(alias string, names ...string) bool {
		return c.Qualifier == alias && alias != "" || c.Qualifier == "" && slices.Contains(names, c.Name)
	}
	switch f := item.(type) {
	case *ast.Table:
		if c.Qualifier != "" {
			return c.Qualifier == f.Alias
		}
		t := model.Table(catalog.Name{Schema: f.Ref.Resolved.Schema, Name: f.Ref.Resolved.Name})
		return slices.Contains(f.Columns, c.Name) ||
			t != nil && slices.ContainsFunc(t.Columns, func(own policy.Column) bool { return own.Name == c.Name && !own.Hidden })
	case *ast.Derived:
		return named(f.Alias, f.Columns...) || c.Qualifier == "" && mayShow(model, selects(f.Query)[0], c.Name)
	case *ast.Lateral:
		return named(f.Alias, f.Columns...) || c.Qualifier == "" && mayShow(model, f.Query, c.Name)
	case *ast.Row:
		return named(f.Alias, f.Columns...) ||
			c.Qualifier == "" && slices.ContainsFunc(f.Targets, func(t ast.Target) bool { return t.Name == c.Name })
	case *ast.Listed:
		return named(f.Alias) || slices.ContainsFunc(f.Lists, func(l ast.List) bool { return named("", l.Name) })
	case *ast.Elements:
		return named(f.Alias, f.Name)
	case *ast.Join:
		return mayHave(model, f.Left, c) || mayHave(model, f.Right, c)
	}
	return false
}

// mayShow reports whether a query may have a column of that name.
func mayShow(model *policy.Model, sel *ast.Select, name string) bool {
	return slices.ContainsFunc(sel.Targets, func(t ast.Target) bool {
		star := t.X == nil && sel.From != nil
		return t.Name == name || star && mayHave(model, sel.From, &ast.Column{Qualifier: t.Qualifier, Name: name})
	})
}

// expandedRows resolves a relation with the elements of an array of its rows.
func expandedRows(sc scope, f ast.From, e *expansion, nullable bool) (node, frame, error) {
	e.resolved = true
	r, err := sc.newRelation(aliasOf(f), e.of.At)
	if err != nil {
		return nil, frame{}, err
	}
	b, it, err := expandedBranch(sc.shared, sc.resolved.place, f, e)
	if err != nil {
		return nil, frame{}, err
	}
	unit := b.source.unit()
	r.rows, r.tagged = &derived{branches: []*branch{b}}, b.source.Tagged()
	r.unit = &scalar.Column{NotNull: true, SQL: r.alias + ".u", Type: unit.Type, Of: []scalar.Expr{&scalar.Ref{Column: unit}}}
	var out []outputColumn
	for _, x := range it.fields {
		out = append(out, outputColumn{name: x.name, x: &scalar.Ref{Column: x.column, At: e.of.At}, at: e.of.At})
	}
	outputs, keyed := withFields(sc.shared, [][]outputColumn{out})
	element := outputColumn{name: e.of.Name, x: &scalar.Ref{Column: b.elements.column, At: e.of.At}, at: e.of.At}
	out = append(slices.Clip(outputs[0]), element)
	if err := unite(r, &ast.Select{At: e.of.At}, [][]outputColumn{out}); err != nil {
		return nil, frame{}, err
	}
	linkFields(r, len(it.fields), keyed)
	notNull := valued(r.columns, nullable)
	sc.addRelation(r)
	var fields []field
	for _, c := range r.columns[:len(it.fields)] {
		fields = append(fields, field{name: c.Name, column: c})
	}
	e.column = r.columns[len(r.columns)-1]
	return r, frame{[]*item{it.with(fields)}, slices.Clone(fields), notNull}, nil
}

func aliasOf(f ast.From) string {
	if list := tablesIn(f); len(list) == 1 {
		return list[0]
	}
	return ""
}

// expandedBranch resolves the branch of such a relation, and the names of the columns beside the elements.
func expandedBranch(b *shared, at place, f ast.From, e *expansion) (*branch, *item, error) {
	sc := b.newLevel(at)
	sc.elements = map[ast.From]*expansion{f: e} // it stays a relation of its own
	n, all, err := sc.resolveItem(f, false)
	if err != nil {
		return nil, nil, err
	}
	sc.rooted(n)
	sc.frame = all
	if err := sc.prove(); err != nil {
		return nil, nil, err
	}
	if err := sc.proved.errLoose(); err != nil {
		return nil, nil, err
	}
	switch {
	case sc.proved.declares || len(sc.frame.items) != 1:
		return nil, nil, errNoArray(e.of)
	case !sc.proved.Protected():
		return nil, nil, notHere(e.of.At, "Unnest it in a query of its own and join the two results.",
			"the array of a public relation cannot be unnested beside protected rows")
	}
	column, err := sc.frame.find(e.of.Array)
	switch {
	case err != nil:
		return nil, nil, err
	case column == nil:
		return nil, nil, sc.frame.unknown(e.of.Array)
	}
	if _, table := f.(*ast.Table); !table { // all columns of a sub-select are written that are used
		for _, c := range sc.frame.visible {
			sc.mention(c.column)
		}
	}
	for _, x := range sc.frame.items[0].fields {
		passFields(sc, []outputColumn{{x: &scalar.Ref{Column: x.column, At: e.of.At}}})
	}
	own, err := sc.newRelation("unnest", e.of.At)
	if err != nil {
		return nil, nil, err
	}
	list := &elements{
		array: &scalar.Ref{Column: column, At: e.of.Array.At}, most: min(b.Model.JoinRows(), scalar.MostElements),
		alias: own.alias, outer: e.outer,
	}
	element, ok := scalar.ArrayElement(list.array, e.of.Name, own.alias+"."+elementColumn)
	if !ok {
		return nil, nil, notHere(e.of.Array.At,
			"It takes a column of arrays, of whole numbers, numerics, texts, booleans, dates, points in time or uuids.",
			"unnest of a value of type %s cannot be used on protected data", column.Type)
	}
	list.column = element
	b.terms.number(element)
	return &branch{source: sc.end(), elements: list}, sc.frame.items[0], nil
}

// elementColumn is what the elements are called in SQL.
const elementColumn = "c1"

// withElements resolves the join of a relation with its elements, which stand beside it already.
func withElements(sc scope, f *ast.Join, e *ast.Elements, left node, lf frame, nullable bool) (node, frame, error) {
	var column *scalar.Column
	for _, x := range sc.elements {
		if x.of == e && x.resolved {
			column = x.column
		}
	}
	if column == nil {
		return nil, frame{}, errNoArray(e)
	}
	if lf.named("", e.Alias) != nil {
		return nil, frame{}, notHere(e.At, "Give each its own alias.", "two relations are called %q", e.Alias)
	}
	it := &item{alias: e.Alias, fields: []field{{name: e.Name, column: column}}}
	all := lf.beside(frame{items: []*item{it}, visible: it.fields}, nil)
	if e.Hidden {
		all.visible = lf.visible
	}
	if f.On == nil || isTrue(f.On) {
		return left, all, nil
	}
	if nullable {
		return nil, frame{}, notHere(f.On.Pos(), "Put the join with unnest into a sub-select in FROM.",
			"a condition on unnest within an outer join cannot be used on protected data")
	}
	sc.frame, sc.outer = all, nil
	for _, x := range conjunction(f.On) {
		c, err := sc.resolveCondition(x)
		if err != nil {
			return nil, frame{}, err
		}
		sc.resolved.where = append(sc.resolved.where, c)
	}
	return left, all, nil
}

// writeElements writes the rows of a branch beside the elements of their arrays: the first of those that are not too long.
func writeElements(p *sourceWriter, q *sqltext.Select, b *branch) error {
	e := b.elements
	array, err := b.source.writer(p.w).Expr(e.array)
	if err != nil {
		return err
	}
	list := &sqltext.Listed{Item: q.From, List: &sqltext.Table{
		SQL: "LATERAL (SELECT pg_catalog.unnest(" + array + ") AS " + elementColumn + " LIMIT " + strconv.FormatInt(e.most, 10) + ")",
		As:  e.alias,
	}}
	if e.outer {
		list.On = "TRUE"
	}
	q.From = list
	return nil
}
