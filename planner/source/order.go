package source

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

// Items of FROM that inner joins combine are the same rows in any order. They are resolved, called, cut and written in an order of their
// own, which depends on their tables, so that a statement that names them in another order is the same question:
//
//	FROM orders o JOIN customers c ON c.id = o.customer_id
//
//	FROM customers c, orders o WHERE o.customer_id = c.id
//
// Names mean what the written order says. Of items with the same tables, such as a table that is joined with itself, the order stays.

// An itemOfFrom is an item of FROM that is resolved before its turn.
type itemOfFrom struct {
	node  node
	frame frame
	err   error
}

// inOrder resolves the items of FROM that inner joins combine, unless one refers to those before it.
func inOrder(sc scope, f ast.From) {
	if _, join := f.(*ast.Join); !join || !sc.shared.ordered || !plainItems(f) {
		return
	}
	items := combined(sc, f, nil)
	slices.SortStableFunc(items, func(a, b ast.From) int { return cmp.Compare(rank(a), rank(b)) })
	sc.early = make(map[ast.From]itemOfFrom, len(items))
	for _, i := range items {
		n, all, err := sc.resolveItem(i, false)
		sc.early[i] = itemOfFrom{n, all, err}
		if err != nil { // those after it are resolved in their turn, so that the first error is that of the statement
			return
		}
	}
}

// combined appends the items of FROM that inner joins combine: those of the side that an outer join keeps as well.
func combined(sc scope, f ast.From, items []ast.From) []ast.From {
	if _, sel := merged(sc, f, false, false); sel != nil {
		return combined(sc, sel.From, items)
	}
	j, ok := f.(*ast.Join)
	switch {
	case !ok:
		return append(items, f)
	case j.Kind == ast.Left:
		return combined(sc, j.Left, items)
	case j.Kind == ast.Right:
		return combined(sc, j.Right, items)
	case j.Kind == ast.Full:
		return append(items, f)
	}
	return combined(sc, j.Right, combined(sc, j.Left, items))
}

// rank is the place of an item in the order: protected tables, public ones, then queries by the tables that they read.
func rank(f ast.From) string {
	switch f := f.(type) { //nolint:gochecksumtype // the others are in no order
	case *ast.Table:
		kind := "0"
		if !f.Ref.Resolved.Protected {
			kind = "1"
		}
		return kind + ast.QuoteIdent(f.Ref.Resolved.Schema) + "." + ast.QuoteIdent(f.Ref.Resolved.Name)
	case *ast.Derived:
		var list []string
		for _, sel := range selects(f.Query) {
			list = append(list, rank(sel.From))
		}
		return "2" + strings.Join(list, "|")
	case *ast.Join:
		return "3" + rank(f.Left) + rank(f.Right)
	}
	return "4"
}

// reordered is a node with its items in the order in which they were resolved, as far as conditions link each to those before it. A
// condition is one of the first join that has its columns.
func (d *draft) reordered(n node) node {
	j, ok := n.(*joined)
	switch {
	case !ok:
		return n
	case j.outer || j.declares:
		j.left = d.reordered(j.left)
		return j
	}
	declares := func(j *joined) bool { return j.declares }
	if slices.ContainsFunc(innerJoins(j), declares) {
		return n
	}
	items, on := innerItems(j)
	order := d.linkedOrder(items, slices.Concat(on, d.resolved.where))
	if slices.Equal(order, items) {
		return n
	}
	out := order[0]
	for i, item := range order[1:] {
		next := &joined{left: out, right: item}
		last := i == len(order)-2
		on = slices.DeleteFunc(on, func(c condition) bool {
			if last || d.within(next, c) {
				next.on = append(next.on, c)
				return true
			}
			return false
		})
		out = next
	}
	return out
}

// linkedOrder is the order in which items are joined: of those that conditions link to the items before them, the first that was resolved.
// So no two items are joined that only a third one ties to each other.
func (d *draft) linkedOrder(items []node, conds []condition) []node {
	place := func(n node) int { return slices.Index(d.resolved.relations, relationsOf(n)[0]) }
	rest := slices.SortedStableFunc(slices.Values(items), func(a, b node) int { return cmp.Compare(place(a), place(b)) })
	order := []node{rest[0]}
	var out node = rest[0]
	for rest = rest[1:]; len(rest) > 0; {
		next := max(slices.IndexFunc(rest, func(item node) bool { return d.linked(out, item, conds) }), 0)
		order, out = append(order, rest[next]), &joined{left: out, right: rest[next]}
		rest = slices.Delete(rest, next, next+1)
	}
	return order
}

// linked reports whether a condition needs both of two nodes, and nothing else.
func (d *draft) linked(a, b node, conds []condition) bool {
	both := &joined{left: a, right: b}
	return slices.ContainsFunc(conds, func(c condition) bool {
		return d.within(both, c) && !d.within(a, c) && !d.within(b, c)
	})
}

// within reports whether a node has all columns of a condition.
func (d *draft) within(n node, c condition) bool {
	has := relationsOf(n)
	return !slices.ContainsFunc(c.x.Columns(), func(col *scalar.Column) bool { return !slices.Contains(has, d.resolved.home[col]) })
}
