package source

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"dpproxy/catalog"
	"dpproxy/core"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

// Names are the names of a model for the parser, which asks here which rows belong together: rows of one unit do. It asks before names are
// resolved, of columns of tables. So the answer is what is proved of these tables alone; conditions and other joins of the statement may
// prove more. Where they do, the parser takes a query for a block that could be rows of the block around it. Where the statement proves
// less than the tables, a query below a block is refused when the block is planned.
//
// Names are for any number of goroutines.
type Names struct {
	*policy.Model

	mu     sync.Mutex
	tables map[catalog.Name]*ownRows
	tied   map[string]bool
}

// NewNames returns the names of a model.
func NewNames(m *policy.Model) *Names {
	return &Names{Model: m, tables: map[catalog.Name]*ownRows{}, tied: map[string]bool{}}
}

var _ ast.Names = (*Names)(nil)

// An ownRows is the rows of a table, proved.
type ownRows struct {
	*proof

	named core.Set // columns that identify the unit of each row on which they are not NULL
}

// Grouped implements [ast.Bonds]. It is the question of [branch.unitGroup], of each table alone. Rows of a group may have NULL in place of
// a reference; then they refer to no row.
func (n *Names) Grouped(by []ast.Origin) (bond ast.Bond) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(by) > 0 {
		table := tableOf(by[0])
		var columns []string
		for _, o := range by {
			if tableOf(o) == table {
				columns = append(columns, o.Column)
			}
		}
		by = slices.DeleteFunc(slices.Clone(by), func(o ast.Origin) bool { return tableOf(o) == table })
		if r := n.rows(table); r != nil {
			bond = max(bond, r.grouped(columns))
		}
	}
	return bond
}

func tableOf(o ast.Origin) catalog.Name { return catalog.Name{Schema: o.Schema, Name: o.Table} }

func (r *ownRows) grouped(by []string) ast.Bond {
	var keys []scalar.Expr
	for _, name := range by {
		keys = append(keys, &scalar.Ref{Column: r.relations[0].column(name)})
	}
	columns := cols(columnsOf(keys))
	switch {
	case columns.Meets(r.named):
		return ast.Named
	case r.typ.Closure(columns).Has(r.typ.Unit), refersBy(r.proof, keys, false) != nil:
		return ast.Together
	}
	return ast.Apart
}

// rows proves whose the rows of a table are, once; nil if they belong to no unit.
func (n *Names) rows(table catalog.Name) *ownRows {
	r, known := n.tables[table]
	if !known {
		if p := n.proof(nil, tableNamed(table, table.Name)); p != nil && p.typ.Unit != 0 {
			r = &ownRows{proof: p}
			for _, c := range p.relations[0].columns {
				if p.typ.Identifies(col(c)) {
					r.named = r.named.Or(core.Of(col(c)))
				}
			}
		}
		n.tables[table] = r
	}
	return r
}

// Tied implements [ast.Bonds]: it joins two tables by the pairs that are of them. Their rows are of one unit, or references of the policy
// have their units compared.
func (n *Names) Tied(pairs [][2]ast.Origin) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(pairs) > 0 {
		l, r := tableOf(pairs[0][0]), tableOf(pairs[0][1])
		others := func(p [2]ast.Origin) bool { return tableOf(p[0]) != l || tableOf(p[1]) != r }
		if n.rows(l) != nil && n.rows(r) != nil && n.joins(l, r, slices.DeleteFunc(slices.Clone(pairs), others)) {
			return true
		}
		pairs = slices.DeleteFunc(slices.Clone(pairs), func(p [2]ast.Origin) bool { return !others(p) })
	}
	return false
}

// mostTied bounds the answers that are kept, and mostPairs the pairs of columns of a question: no key has as many columns.
const mostTied, mostPairs = 1000, 100

// joins reports whether the planner joins rows of two tables in which pairs of columns are equal.
func (n *Names) joins(l, r catalog.Name, pairs [][2]ast.Origin) bool {
	pairs = pairs[:min(len(pairs), mostPairs)]
	question := fmt.Sprint(pairs)
	tied, known := n.tied[question]
	if known {
		return tied
	}
	if len(n.tied) == mostTied {
		clear(n.tied)
	}
	left, right := ast.OwnPrefix+"0", ast.OwnPrefix+"1"
	var on []ast.Expr
	for _, p := range pairs {
		x, y := &ast.Column{Qualifier: left, Name: p[0].Column}, &ast.Column{Qualifier: right, Name: p[1].Column}
		on = append(on, &ast.Op{Name: "=", Left: x, Right: y})
	}
	join := &ast.Join{Kind: ast.Inner, Left: tableNamed(l, left), Right: tableNamed(r, right), On: allOf(on, asIs)}
	meter := work.New(context.Background(), work.Brief)
	n.tied[question] = n.proof(meter, join) != nil && meter.Err() == nil
	return n.tied[question]
}

func tableNamed(n catalog.Name, alias string) *ast.Table {
	return &ast.Table{Ref: ast.TableRef{Name: n.Name, Resolved: ast.Relation{Schema: n.Schema, Name: n.Name}}, Alias: alias}
}

// proof proves whose the rows of FROM are; nil if they are refused. A proof that is kept has no meter: all that is asked of it would count.
func (n *Names) proof(meter *work.Meter, from ast.From) *proof {
	st := &Statement{Model: n.Model, Constants: &scalar.Constants{}, Work: meter}
	b := &shared{Statement: st, terms: terms{judge: core.Judge{Spend: meter.Spend}}}
	sc, err := b.newLevel(place{}).resolveFrom(from)
	if err != nil {
		return nil
	}
	p, err := proveUnited(sc.draft)
	if err != nil {
		return nil
	}
	return p
}
