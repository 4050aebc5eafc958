package planner

import (
	"fmt"
	"math"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Top shows only the groups of a set with about the largest values of a statistic, and measures only these. They are chosen one after
// the other, without noise in all groups: the error of a choice among counts does not grow with the number of groups of one unit.
type Top struct {
	// K is the number of groups that are shown.
	K int

	statistic, output int
	budget            share                         // of all choices
	mechanisms        onceOf[int64, mechanisms.Top] // by the limit of the statistic
}

// The values of dp.top.
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

// within returns the choices if a unit raises the statistic of a group by at most a limit.
func (t *Top) within(limit int64) (mechanisms.Top, error) {
	each := t.budget.choiceEpsilon(t.budget.pico() / int64(t.K))
	return mechanisms.NewTop(t.K, limit, each, t.budget.kind == laplace)
}

// Event is the event of all choices. It is the same for all limits of the statistic.
func (t *Top) Event() dp.ComposedEvent {
	if t == nil {
		return nil
	}
	return must(t.within(1)).Event()
}

// question names all that the choice depends on, besides the read and the prices.
func (t *Top) question() string { return fmt.Sprintf("top %d by %d", t.K, t.statistic) }

// missed is the difference, in units of the limit, by which a group that is left out may exceed a chosen group, except with probability
// alpha: in each choice (C/ε)·ln(groups/α′) with α′ = alpha/k.
func (t *Top) missed(groups int, alpha float64) float64 {
	epsilon := float64(t.budget.choiceEpsilon(t.budget.pico()/int64(t.K))) / dp.PicoPerUnit
	return math.Log(float64(groups)*float64(t.K)/alpha) / epsilon
}
