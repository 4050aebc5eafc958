package source

import (
	"errors"
	"fmt"
	"slices"

	"dpproxy/core"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A Compared counts the levels of blocks that package core has judged, and the blocks that are refused for whose rows they have.
type Compared struct {
	// Levels were judged, of which Protected have a unit, and One have one row of each.
	Levels, Protected, One int
	// Refusals are of blocks; of these package core accepts Accepted, which Notes tells.
	Refusals, Accepted int
	Notes              []string
	// Astray are conditions of terms that hold in other places than in the statement.
	Astray []string
}

func (c *Compared) String() string {
	return fmt.Sprintf("core: %d levels, %d of them protected, %d of one row of a unit; %d refusals, of which it accepts %d",
		c.Levels, c.Protected, c.One, c.Refusals, c.Accepted)
}

// Compare adds the levels of a block.
func (c *Compared) Compare(model *policy.Model, b *ast.Block) {
	rows, err := Resolve(&Statement{Model: model, Constants: &scalar.Constants{}}, b)
	if err == nil {
		c.level(rows.scope.proved)
		return
	}
	if refused, ok := errors.AsType[*pgerr.Error](err); ok && refused.Code == pgerr.Ownership {
		c.refused(&rows.scope.shared.terms, rows.scope.resolved, err)
	}
}

// refused adds a block whose rows need not be of one unit each.
func (c *Compared) refused(t *terms, r *resolved, refusal error) {
	if r.root == nil { // a level below is refused
		return
	}
	c.Refusals++
	p := &proof{resolved: r}
	err := p.judge(t)
	for _, j := range r.subselects {
		if err == nil {
			err = p.meets(t, j)
		}
	}
	if err == nil && len(p.typ.Loose) == 0 {
		c.Accepted++
		c.Notes = append(c.Notes, "accepted: "+refusal.Error())
	}
}

// level adds a level, and those below it.
func (c *Compared) level(b *bounded) {
	c.Levels++
	c.conditions(b)
	if b.typ.Unit != 0 {
		c.Protected++
	}
	if b.typ.Unique(nil) {
		c.One++
	}
	for _, r := range b.relations {
		for _, below := range r.branches() {
			c.level(below.source.bounded)
		}
	}
	for _, j := range b.semijoins {
		c.level(j.inner.bounded)
	}
}

// conditions looks for the conditions of the term of a level: on the nullable side of an outer join those of joins there, between its
// sides its own, and anywhere those of the level. The comparison of IN is none of these if rows count on which it is NULL.
func (c *Compared) conditions(b *bounded) {
	all := slices.Concat(b.where, onsOf(b.root))
	if b.match != nil && !b.unmatched {
		all = append(all, condition{x: b.match})
	}
	for _, term := range []core.Rel{b.term, b.read} {
		c.among(b, "the level", conditionsIn(b, term), all)
	}
	for j, term := range b.outer {
		c.among(b, "the nullable side", conditionsIn(b, term.R), onsOf(j.right))
		c.among(b, "the outer join", term.On, j.on)
	}
}

func (c *Compared) among(b *bounded, place string, list []core.Condition, of []condition) {
	for _, on := range list {
		if !slices.ContainsFunc(of, func(o condition) bool { return on.Of == o.x }) {
			c.Astray = append(c.Astray, fmt.Sprintf("%s of %q has another condition, of columns %v", place, b.relations[0].name,
				slices.Collect(on.Cols.All())))
		}
	}
}

// conditionsIn are the conditions of a term of a level, not those of its relations.
func conditionsIn(b *bounded, rel core.Rel) []core.Condition {
	if slices.ContainsFunc(b.relations, func(r *relation) bool { return r.term == rel }) {
		return nil
	}
	switch r := rel.(type) { //nolint:gochecksumtype // a level has no others above its relations
	case *core.Filter:
		return slices.Concat(r.If, conditionsIn(b, r.In))
	case *core.Join:
		return slices.Concat(r.On, conditionsIn(b, r.L), conditionsIn(b, r.R))
	case *core.Cap:
		return conditionsIn(b, r.In)
	}
	return nil
}

// onsOf are the conditions of the joins of a node.
func onsOf(n node) []condition {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	return slices.Concat(onsOf(j.left), onsOf(j.right), j.on)
}

// A Grouping says of keys whether a sub-select that groups the rows of a block by them is refused as one whose groups can have rows of
// several units: by what the statement is refused for, and by package core.
type Grouping struct {
	Keys           string
	Refused, Judge bool
}

// Groupings are those by one column, or two, of the rows of a block.
func Groupings(model *policy.Model, b *ast.Block) (list []Grouping, err error) {
	rows, err := Resolve(&Statement{Model: model, Constants: &scalar.Constants{}}, b)
	if err != nil {
		return nil, err
	}
	t, p := &rows.scope.shared.terms, rows.scope.proved
	var columns []scalar.Expr
	for _, r := range p.relations {
		for _, c := range r.columns {
			if c.OneSpelling() {
				columns = append(columns, &scalar.Ref{Column: c})
			}
		}
	}
	for i := range columns {
		for j := range i + 1 {
			keys := []scalar.Expr{columns[i], columns[j]}
			_, err := t.judge.Check(t.group(p.read, keys, &branch{}))
			list = append(list, Grouping{
				Keys:    fmt.Sprint(columnsOf(keys)[0].SQL, ", ", columnsOf(keys)[1].SQL),
				Refused: !p.tells(keys), Judge: errors.Is(err, core.ErrGroup),
			})
		}
	}
	return list, nil
}
