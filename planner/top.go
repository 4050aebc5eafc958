package planner

import (
	"fmt"
	"math"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Top says that of a set's groups those with about the largest values of one statistic are shown, and only
// they are measured. They are chosen one after the other. It takes the place of noise in all groups:
// a choice among counts does not become worse by the number of groups that one unit is in.
type Top struct {
	// K is how many groups are shown.
	K int

	statistic, output int
	budget            share                         // of all choices
	mechanisms        onceOf[int64, mechanisms.Top] // by the limit of the statistic
}

// Words of dp.top.
const (
	topOn   = "on"
	topOff  = "off"
	topAuto = "auto"
)

// TopWords are the values of the setting dp.top.
func TopWords() []string { return []string{topAuto, topOn, topOff} }

// give gives the choices their part of the budget.
func (t *Top) give(of share) error {
	t.budget = of
	_, err := t.within(1)
	return err
}

// within returns the choices where a unit raises the statistic of a group by at most a limit.
func (t *Top) within(limit int64) (mechanisms.Top, error) {
	each := t.budget.choiceEpsilon(t.budget.pico() / int64(t.K))
	return mechanisms.NewTop(t.K, limit, each, t.budget.kind == laplace)
}

// Event is that of all choices, whatever the limit of the statistic is.
func (t *Top) Event() dp.ComposedEvent {
	if t == nil {
		return nil
	}
	return must(t.within(1)).Event()
}

// question names all that the choice depends on, beside the read and the prices.
func (t *Top) question() string { return fmt.Sprintf("top %d by %d", t.K, t.statistic) }

// missed is by how much less than a group that is left out one that is chosen may have, in units of the limit, but with
// probability alpha: in each choice, by (C/ε)·ln(groups/α′) at most, α′ one of k parts of alpha.
func (t *Top) missed(groups int, alpha float64) float64 {
	epsilon := float64(t.budget.choiceEpsilon(t.budget.pico()/int64(t.K))) / dp.PicoPerUnit
	return math.Log(float64(groups)*float64(t.K)/alpha) / epsilon
}
