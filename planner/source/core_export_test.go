package source

import (
	"errors"
	"fmt"

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
