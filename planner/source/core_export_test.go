package source

import (
	"errors"
	"fmt"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A Compared is what package core derives of the levels of blocks beside what this package proves.
type Compared struct {
	// Levels were compared, Claims of them, and Refusals of blocks.
	Levels, Claims, Refusals int
	// Weaker counts claims by kind that core does not derive, and Stronger those that core alone derives.
	Weaker, Stronger map[string]int
	// Notes has a line for each of them.
	Notes []string
}

// Compare adds the levels of a block.
func (c *Compared) Compare(model *policy.Model, b *ast.Block) error {
	if c.Weaker == nil {
		c.Weaker, c.Stronger = map[string]int{}, map[string]int{}
	}
	rows, err := Resolve(&Statement{Model: model, Constants: &scalar.Constants{}}, b)
	if err == nil {
		c.level(rows.scope.proved)
	} else if refused, ok := errors.AsType[*pgerr.Error](err); ok && refused.Code == pgerr.Ownership {
		c.refused(&rows.scope.shared.terms, rows.scope.resolved, err)
	}
	return err
}

// refused compares a block whose rows need not be of one unit each.
func (c *Compared) refused(t *terms, r *resolved, refusal error) {
	if r.root == nil { // a level below is refused
		return
	}
	c.Refusals++
	p := &proof{resolved: r, follows: paths{}}
	err := p.judge(t)
	for _, j := range r.subselects {
		if err == nil {
			err = p.meets(t, j)
		}
	}
	c.claim("refusal", refusal.Error(), true, err != nil || len(p.typ.Loose) > 0)
}

func (c *Compared) String() string {
	return fmt.Sprintf("core: %d levels, %d claims, %d refusals, less: %v, more: %v",
		c.Levels, c.Claims, c.Refusals, c.Weaker, c.Stronger)
}

// level compares a level, and those below it.
func (c *Compared) level(b *bounded) {
	c.Levels++
	c.claims(b)
	for _, r := range b.relations {
		for _, below := range r.branches() {
			c.level(below.source.bounded)
		}
	}
	for _, j := range b.semijoins {
		c.level(j.inner.bounded)
	}
}

// claim compares one claim.
func (c *Compared) claim(name, of string, ours, theirs bool) {
	c.Claims++
	switch {
	case ours && !theirs:
		c.Weaker[name]++
		c.Notes = append(c.Notes, "weaker: "+name+" "+of)
	case theirs && !ours:
		c.Stronger[name]++
		c.Notes = append(c.Notes, "stronger: "+name+" "+of)
	}
}

func (c *Compared) claims(b *bounded) {
	loose := len(b.typ.Loose) > 0
	c.claim("protected", "", b.Protected(), b.typ.Unit != 0 || loose)
	if !b.Protected() || b.typ.Unit == 0 {
		return
	}
	for _, r := range b.relations {
		for _, of := range r.columns {
			c.claim("is unit", r.alias+"."+of.Name, b.IsUnit(&scalar.Ref{Column: of}), b.typ.Equal(b.typ.Unit, col(of)))
		}
	}
}
