package source

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// A projection of a reference table in FROM, as those of views and of WITH are, is the table, with conditions on the join:
//
//	deliveries d LEFT JOIN (SELECT a.id AS i, a.kind FROM addresses a WHERE a.floor > 1) x ON x.i = d.address_id
//
//	deliveries d LEFT JOIN addresses a ON a.floor > 1 AND a.id = d.address_id
//
// So its rows are looked up by the same rule.

// projectsReference reports whether an item of FROM is a projection of a reference table, of whose columns it has some as they are.
func projectsReference(model *policy.Model, f ast.From) bool {
	if t, table := f.(*ast.Table); table {
		of := model.Table(catalog.Name{Schema: t.Ref.Resolved.Schema, Name: t.Ref.Resolved.Name})
		return of != nil && of.Reference
	}
	d, sel := projection(f, true)
	return d != nil && !sel.Distinct && (sel.Where == nil || ofOneRow(sel.Where)) && projectsReference(model, sel.From)
}

// resolveProjection resolves such an item as its table. Its conditions are those of the join that it is in.
func resolveProjection(sc scope, f ast.From, nullable bool) (*relation, frame, error) {
	if t, table := f.(*ast.Table); table {
		n, all, err := sc.resolveTable(t, nullable)
		if err != nil {
			return nil, frame{}, err
		}
		return relationsOf(n)[0], all, nil
	}
	d, sel := projection(f, true)
	r, below, err := resolveProjection(sc, sel.From, nullable)
	if err != nil {
		return nil, frame{}, err
	}
	in := sc
	in.frame, in.outer = below.withoutOwn(), nil // it is no LATERAL
	for _, e := range conjunction(sel.Where) {
		c, err := in.resolveCondition(e)
		if err != nil {
			return nil, frame{}, err
		}
		sc.projected[r] = append(sc.projected[r], c)
	}
	it := &item{alias: d.Alias}
	if it.fields, err = projected(in, sel); err == nil {
		err = it.rename(d.Columns, d.At)
	}
	return r, frame{[]*item{it}, slices.Clone(it.fields), below.notNull}, err
}

// conditionsOfProjections adds those of the sides of a join to it. A reference table is on no side that an outer join keeps.
func conditionsOfProjections(sc scope, j *joined) error {
	for _, side := range []node{j.left, j.right} {
		r, single := side.(*relation)
		if !single || len(sc.projected[r]) == 0 {
			continue
		}
		if j.outer && side == j.left {
			return errUnlooked(sc.resolved, r)
		}
		j.on = append(j.on, sc.projected[r]...)
	}
	return nil
}
