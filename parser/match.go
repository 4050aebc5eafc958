package parser

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// An occurrence is a place above the grouping of a block that a column of the
// released relation takes.
type occurrence struct {
	node   *pg.Node
	column string // g1, a1, s1, ...
}

// A matcher finds the grouping expressions, the aggregates and the calls of GROUPING of a block in
// the clauses that remain of it. Equal expressions share one column; they are compared
// with their column references resolved, so that v.cost and cost are equal.
type matcher struct {
	scope      *scope
	groups     map[string]int // canonical form of an expression
	types      map[reflect.Type]bool
	literals   map[*pg.Node]int
	aggregates map[string]int
	weights    map[string]*pg.FuncCall // of dp.weight, by the canonical form of the aggregate
	of         []string                // of each aggregate, the canonical form without weight and dp.error
	twice      *pg.FuncCall            // the first call of dp.weight with another weight than before

	spent          int // bytes of canonical forms made
	groupNodes     []*pg.Node
	aggregateNodes []*pg.Node
	found          []occurrence
	sets           [][]int
	groupings      [][]int
	stray          *pg.ColumnRef    // the first column neither grouped nor aggregated
	ungrouped      *pg.GroupingFunc // the first GROUPING(...) of an expression that is not grouped
}

// match resolves the references of the block, finds its occurrences, and puts
// the references back.
func match(c *candidate) *matcher {
	m := &matcher{
		scope: c.scope, groups: map[string]int{}, types: map[reflect.Type]bool{},
		literals: map[*pg.Node]int{}, aggregates: map[string]int{}, weights: map[string]*pg.FuncCall{},
	}
	remaining := remaining(c)
	restore := m.resolve(slices.Concat(remaining, c.groups.exprs))
	defer restore()
	for _, g := range c.groups.exprs {
		m.addGroup(g)
	}
	m.addSets(c)
	pgtree.VisitAll(remaining, m.visit)
	return m
}

// addSets numbers the expressions of the grouping sets. A single set of all of them is
// a plain GROUP BY.
func (m *matcher) addSets(c *candidate) {
	if c.groups.sets == nil {
		return
	}
	seen := map[string]bool{}
	for _, set := range c.groups.sets {
		indices := []int{}
		for _, n := range set {
			if i, ok := m.group(n); ok {
				indices = append(indices, i-1)
			}
		}
		slices.Sort(indices)
		indices = slices.Compact(indices)
		key := fmt.Sprint(indices)
		if c.sel.GroupDistinct && seen[key] {
			continue
		}
		seen[key] = true
		m.sets = append(m.sets, indices)
	}
	slices.SortStableFunc(m.sets, func(x, y []int) int { return len(x) - len(y) })
	if len(m.sets) == 1 {
		m.sets = nil
	}
}

// remaining lists the expressions of a block that stay on the mirror, bare
// output names and positions of ORDER BY and DISTINCT ON left out.
func remaining(c *candidate) []*pg.Node {
	var out []*pg.Node
	for _, n := range c.sel.TargetList {
		out = append(out, n.GetResTarget().GetVal())
	}
	out = append(out, c.sel.HavingClause)
	for _, n := range slices.Concat(c.sel.SortClause, c.sel.DistinctClause) {
		if by := n.GetSortBy(); by != nil {
			n = by.Node
		}
		if _, number := pgtree.Position(n); !number && !isOutput(n, c.outputs) {
			out = append(out, n)
		}
	}
	return append(out, c.sel.WindowClause...)
}

// resolve replaces the fields of column references of this level by the columns that
// they mean, and returns the function that undoes it.
func (m *matcher) resolve(list []*pg.Node) (restore func()) {
	type saved struct {
		ref    *pg.ColumnRef
		fields []*pg.Node
	}
	var changed []saved
	done := map[*pg.ColumnRef]bool{}
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if enter := opaque(n); enter != nil {
			enter(visit)
			return
		}
		ref := n.GetColumnRef()
		if ref == nil {
			pgtree.Children(n, visit)
			return
		}
		if it, c, ok := m.scope.own(ref); ok && !done[ref] {
			done[ref] = true
			changed = append(changed, saved{ref, ref.Fields})
			ref.Fields = []*pg.Node{pg.MakeStrNode("\x00" + strconv.Itoa(it)), pg.MakeStrNode(c.name)}
		}
	}
	pgtree.VisitAll(list, visit)
	return func() {
		for _, s := range changed {
			s.ref.Fields = s.fields
		}
	}
}

// opaque returns nil for a node of this query level; for a sub-select it
// returns how to walk the part of it that belongs to this level.
func opaque(n *pg.Node) func(visit func(*pg.Node)) {
	switch x := n.Node.(type) {
	case *pg.Node_SubLink:
		return func(visit func(*pg.Node)) { pgtree.Visit(x.SubLink.Testexpr, visit) }
	case *pg.Node_SelectStmt:
		return func(func(*pg.Node)) {}
	}
	return nil
}

func (m *matcher) addGroup(n *pg.Node) {
	if n.GetAConst() != nil {
		// A literal reached by position or alias: another one of the same
		// text is not the same expression, it may get another type.
		if _, known := m.literals[n]; !known {
			m.groupNodes = append(m.groupNodes, n)
			m.literals[n] = len(m.groupNodes)
		}
		return
	}
	key := m.key(n)
	if _, known := m.groups[key]; known {
		return
	}
	m.groupNodes = append(m.groupNodes, n)
	m.groups[key] = len(m.groupNodes)
	m.types[reflect.TypeOf(n.GetNode())] = true
}

// maxCompared bounds the bytes of the canonical forms that are made of one block.
const maxCompared = 4 << 20

func (m *matcher) key(n *pg.Node) string {
	if names, plain := pgtree.Strings(n.GetColumnRef().GetFields()); plain && len(names) > 0 {
		return "\x00" + strings.Join(names, "\x00") // no canonical form begins so
	}
	key, _, _ := pgtree.Canonical(n)
	m.spent += len(key)
	return string(key)
}

// exhausted reports whether the block is too large to be compared with itself.
func (m *matcher) exhausted() bool { return m.spent > maxCompared }

func (m *matcher) group(n *pg.Node) (int, bool) {
	if i, ok := m.literals[n]; ok {
		return i, true
	}
	if !m.types[reflect.TypeOf(n.Node)] {
		return 0, false
	}
	i, ok := m.groups[m.key(n)]
	return i, ok
}

func (m *matcher) visit(n *pg.Node) {
	if m.exhausted() {
		return
	}
	if i, ok := m.group(n); ok {
		m.found = append(m.found, occurrence{n, "g" + strconv.Itoa(i)})
		return
	}
	if pgtree.IsAggregate(n) {
		m.found = append(m.found, occurrence{n, "a" + strconv.Itoa(m.aggregate(n))})
		return
	}
	if ref := n.GetColumnRef(); ref != nil && m.stray == nil && m.scope.reach(ref) <= 0 {
		m.stray = ref
	}
	if f := n.GetGroupingFunc(); f != nil {
		m.grouping(n, f)
		return
	}
	if enter := opaque(n); enter != nil {
		enter(m.visit)
		return
	}
	pgtree.Children(n, m.visit)
}

// maxGrouping is how many arguments GROUPING takes: its value is an integer of 32 bits.
const maxGrouping = 31

// grouping gives a call of GROUPING its column.
func (m *matcher) grouping(n *pg.Node, f *pg.GroupingFunc) {
	var indices []int
	for _, arg := range f.Args {
		i, ok := m.group(arg)
		if !ok || len(indices) == maxGrouping {
			m.ungrouped = f
			return
		}
		indices = append(indices, i-1)
	}
	at := slices.IndexFunc(m.groupings, func(known []int) bool { return slices.Equal(known, indices) })
	if at < 0 {
		at = len(m.groupings)
		m.groupings = append(m.groupings, indices)
	}
	m.found = append(m.found, occurrence{n, "s" + strconv.Itoa(at+1)})
}

func (m *matcher) aggregate(n *pg.Node) int {
	weight, inner := pgtree.Weighing(n)
	of := m.key(inner)
	m.weigh(of, weight)
	key := of
	switch {
	case weight != nil && weight == n.GetFuncCall() && weight.Args[0] == inner && pgtree.IsPlainWeight(weight):
		n = inner // the weight is no part of the value
	case inner != n:
		key = m.key(n)
	}
	i, known := m.aggregates[key]
	if !known {
		m.of = append(m.of, of)
		m.aggregateNodes = append(m.aggregateNodes, n)
		i = len(m.aggregateNodes)
		m.aggregates[key] = i
	}
	return i
}

// place notes the places of the aggregates of a block.
func (m *matcher) place(block int, places map[*pg.Node]ast.Place) {
	for _, o := range m.found {
		if n, err := strconv.Atoi(strings.TrimPrefix(o.column, "a")); err == nil {
			places[o.node] = ast.Place{Block: block, Aggregate: n - 1}
		}
	}
}

// weigh notes the weight of an aggregate, of which the canonical form is given.
func (m *matcher) weigh(of string, weight *pg.FuncCall) {
	if weight == nil || !pgtree.IsPlainWeight(weight) {
		return // converting it refuses what is not plain
	}
	known := m.weights[of]
	switch {
	case known == nil:
		m.weights[of] = weight
	case m.twice == nil && m.key(known.Args[1]) != m.key(weight.Args[1]):
		m.twice = weight
	}
}
