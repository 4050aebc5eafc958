package ledger

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner"
	"dpproxy/proxy/settings"
)

// fewQuestions is the number below which a budget does not last for an afternoon's analysis.
const fewQuestions = 50

// An endowment is how many statements with the policy's default ε an analyst's budgets allow, and which budget is exhausted first.
type endowment struct {
	analyst   string
	epsilon   int64 // of the analyst's statements, in 10⁻¹²
	questions int64
	by        accountant.Limit
	rest      dp.Loss // of that budget
}

// Rests are the unspent parts of budgets, by their names in the policy. A budget that is not in it is whole.
type Rests map[accountant.Scope]dp.Loss

// of returns the rest of a budget.
func (r Rests) of(l accountant.Limit) dp.Loss {
	if left, known := r[l.Scope]; known {
		return left
	}
	return l.Loss
}

// endowments lists those of the analysts of a policy who may ask about protected tables.
func endowments(p *config.Policy, left Rests) ([]endowment, error) {
	limits, err := p.Scopes()
	if err != nil {
		return nil, err
	}
	var out []endowment
	for _, a := range p.Analysts {
		e := endowment{analyst: a.Name, epsilon: ownEpsilon(p, a), questions: -1}
		for _, l := range limits {
			granted := slices.ContainsFunc(a.Tables, func(t catalog.Name) bool { return t.String() == l.Scope.Name })
			if l.Scope.Kind == accountant.TableScope && !granted || l.Scope.Kind == accountant.AnalystScope && l.Scope.Name != a.Name ||
				l.Scope.Kind == accountant.LocalScope { // of objects, which aggregates do not charge
				continue
			}
			rest := left.of(l)
			if n := rest.Pico() / typicalCost(e.epsilon, l.Loss.Measure()); e.questions < 0 || n < e.questions {
				e.questions, e.by, e.rest = n, l, rest
			}
		}
		if len(a.Tables) > 0 {
			out = append(out, e)
		}
	}
	return out, nil
}

// ownEpsilon is the ε of an analyst's statements: the one that their sessions begin with, or that of all.
func ownEpsilon(p *config.Policy, a config.Analyst) int64 {
	of := settings.Settings{EpsilonPico: p.Defaults.EpsilonPico}
	if of.Parse("epsilon", a.Settings["dp.epsilon"]) != nil {
		return p.Defaults.EpsilonPico
	}
	return of.EpsilonPico
}

// typicalCost is what a statement with that ε costs, in 10⁻¹² of the measure.
func typicalCost(epsilonPico int64, m dp.Measure) int64 {
	if m == dp.PureDP {
		return epsilonPico
	}
	e := float64(epsilonPico) / dp.PicoPerUnit
	return max(int64(e*e/2*dp.PicoPerUnit), 1)
}

// countError is how far a count of units is off, with probability 0.05 at most, for that ε: by Laplace noise in a pure budget, of
// which P(|x| > t) = exp(−ε·t), else by a normal one of variance 1/ε².
func countError(epsilonPico int64, m dp.Measure) float64 {
	const alpha = 0.05
	e := float64(epsilonPico) / dp.PicoPerUnit
	if m == dp.PureDP {
		return math.Log(1/alpha) / e
	}
	return math.Sqrt2 * math.Erfinv(1-alpha) / e
}

// questions tells how many questions of which precision each analyst has left, and warns where they are few.
func questions(p *config.Policy, left Rests) ([]string, error) {
	all, err := endowments(p, left)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range all {
		epsilon, measure := e.epsilon, e.by.Loss.Measure()
		number := counted(e.questions)
		if e.rest != e.by.Loss {
			number += " left"
		}
		lines = append(lines, fmt.Sprintf("analyst %q: %s at epsilon %s, each like a count of %ss ± %s (95 %%); then %v is exhausted",
			e.analyst, number, dp.Decimal(epsilon, 12), p.Tables.Unit,
			planner.Number(math.Ceil(countError(epsilon, measure))), e.by.Scope))
		if e.questions >= fewQuestions {
			continue
		}
		advice := mirror.Warning + "these are few for an afternoon; raise " + policyKey(e.by.Scope)
		key := "defaults.epsilon"
		if epsilon != p.Defaults.EpsilonPico {
			key = "dp.epsilon in analysts." + e.analyst + ".settings"
		}
		if fit := fittingEpsilon(e.rest); fit > 0 {
			advice += fmt.Sprintf(", or set %s to %s: %s, ± %s", key, dp.Decimal(fit, 12),
				counted(e.rest.Pico()/typicalCost(fit, measure)), planner.Number(math.Ceil(countError(fit, measure))))
		}
		lines = append(lines, advice)
	}
	return lines, nil
}

// SayQuestions writes them for a policy's file.
func SayQuestions(file string, p *config.Policy, left Rests) error {
	lines, err := questions(p, left)
	for _, line := range lines {
		fmt.Printf("%s: %s\n", file, line)
	}
	return err
}

// counted writes a number of questions.
func counted(n int64) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}

// fittingEpsilon is the largest ε of one figure of which twice as many questions as are few fit a budget; 0 without one.
func fittingEpsilon(budget dp.Loss) int64 {
	for unit := int64(dp.PicoPerUnit); unit > 1_000_000; unit /= 10 {
		for figure := int64(9); figure >= 1; figure-- {
			if budget.Pico()/typicalCost(figure*unit, budget.Measure()) >= 2*fewQuestions {
				return figure * unit
			}
		}
	}
	return 0
}

// RestsOf returns the rests of the budgets of a policy in its ledger; nil if there is no ledger, or none that can be read.
func RestsOf(ctx context.Context, p *config.Policy) Rests {
	b := &Books{Policy: p}
	state, err := b.State(ctx)
	if err != nil {
		return nil // of which the check of the budgets tells
	}
	left, err := b.left(state)
	if err != nil {
		return nil
	}
	return left
}
