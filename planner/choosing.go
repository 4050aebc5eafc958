package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A choosing form has counts that are not released; the exponential mechanism chooses the indices of some of them. It releases the number
// of its rows with noise, and then the chosen indices.
type choosing interface {
	valueForm
	// choices is the number of choices.
	choices() int
	// chooser returns the mechanism of choice i if a unit has at most weight limit, at ε = epsilonPico·10⁻¹². pure says that the price is
	// in ε.
	chooser(i int, limit, epsilonPico int64, pure bool) (Chooser, error)
	// question names all that the choices depend on besides the read and the prices.
	question() string
	// weight is the largest change of a score by one unit, per unit of its weight.
	weight() int64
	// noiseWeight is the weight of the noise in the penalty by which the limit is chosen.
	noiseWeight() float64
	// unlikely is the distance in rows of a choice from the best, or of an end from the percentile, that is exceeded with probability
	// alpha, by the mechanism for a limit of 1 at ε.
	unlikely(i int, epsilon, alpha float64) float64
}

// A Chooser draws the index of one of several counts. The index may be shown to clients.
type Chooser interface {
	Event() dp.Event
	String() string
	Choose(src mechanisms.Source, weights []mechanisms.Private) (int, error)
}

// choosing returns the form of the statistic if it is a choosing form, or nil.
func (s *statistic) choosing() choosing {
	c, _ := s.statisticForm.(choosing)
	return c
}

// released returns how many integers of the statistic are released.
func (s *statistic) released() int {
	if c := s.choosing(); c != nil {
		return 1 + c.choices()
	}
	return s.nodes()
}

// chosen returns how many integers of the statistic are chosen.
func (s *statistic) chosen() int {
	if c := s.choosing(); c != nil {
		return c.choices()
	}
	return 0
}

// countTenths is the part of the budget of choices, in tenths, for the noisy number of rows. A group with fewer rows than a choice can be
// off by shows no value.
const countTenths = 1

// splitChoices divides a budget between the number of rows and the choices.
func splitChoices(pico int64, choices int) ([]int64, error) {
	count := pico / 10 * countTenths
	each := (pico - count) / int64(choices)
	if count < 1 || each < 1 {
		return nil, mechanisms.ErrParameter
	}
	parts := []int64{count}
	for range choices {
		parts = append(parts, each)
	}
	return parts, nil
}

// choiceEpsilon returns the ε of a choice with a price: an ε-bounded-range choice is ε²/8-zCDP.
func (s share) choiceEpsilon(pico int64) int64 {
	if s.kind == gaussian {
		return mechanisms.BoundedRangeFor(pico)
	}
	return pico
}

// forChoices returns the share as choices are paid: in ρ if the budget has ρ, since then norms are ℓ₂ and a choice is priced by its bounded
// range.
func (s share) forChoices() share {
	s.kind = s.choices
	return s
}

// choosersFor returns the mechanisms of a budget if a unit has at most weight limit.
func (s *statistic) choosersFor(of share, limit int64) ([]Chooser, error) {
	c := s.choosing()
	if c == nil {
		return nil, nil
	}
	picos, err := s.picos(of)
	if err != nil {
		return nil, err
	}
	out := make([]Chooser, c.choices())
	for i := range out {
		if out[i], err = c.chooser(i, limit, of.choiceEpsilon(picos[1+i]), of.kind == laplace); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choosersAt returns the mechanisms of a statistic whose units were cut at limits.
func (s *statistic) choosersAt(clips []Clip) []Chooser {
	if s.measure == nil {
		return s.chosenBy
	}
	levels := clips[s.measure.at].Levels
	return s.choosers.get(levels[0], func() []Chooser { return must(s.choosersWithin(levels)) })
}

func eventsOf(choosers []Chooser) dp.ComposedEvent {
	var e dp.ComposedEvent
	for _, c := range choosers {
		e = append(e, c.Event())
	}
	return e
}

// Choices are the choices of a statistic, among the Nodes integers of a partition from Place on. Their released integers begin at First:
// the number of rows, then the choices in the order of Of.
type Choices struct {
	Place, Nodes, First int
	Count               contribution.Noise
	Of                  []Chooser
}

// choiceError is the distance in rows of choice i from the best, or of an end from the percentile, that is exceeded with probability alpha,
// if units are cut at the limits of levels.
func (s *statistic) choiceError(i int, levels []int, alpha float64) float64 {
	limit, of := 1.0, s.budget
	if s.measure != nil {
		limit, of = s.measure.Norms[0].Grid.Limit(levels[0]), s.share()
	}
	epsilon := float64(of.choiceEpsilon(must(s.picos(of))[1+i])) / dp.PicoPerUnit
	return math.Ceil(limit*s.choosing().unlikely(i, epsilon, alpha) - 1e-9)
}

// choosersWithin returns the mechanisms if the limits of the measure are those of levels.
func (s *statistic) choosersWithin(levels []int) ([]Chooser, error) {
	sens, err := s.measure.sensitivity(s, levels)
	if err != nil {
		return nil, err
	}
	return s.choosersFor(s.share(), sens.LInf)
}

// choiceEvents is the release of the choices. Its price is the same for all limits.
func (s *statistic) choiceEvents() dp.ComposedEvent {
	return eventsOf(must(s.choosersWithin(s.measure.leastLevels())))
}

// choiceFraction returns the fraction bits of the weights among which choices are made.
func (s *statistic) choiceFraction() uint {
	if s.measure == nil {
		return 0
	}
	return s.measure.lattice(s)
}

// typicalLevel is a level of limits at which rounding to whole numbers of noise no longer matters.
const typicalLevel = 20

// comparedAt sets the clip of a statistic, among the least clips, to a level at which histogram and choices are compared. Both errors grow
// in proportion to the limit.
func (s *statistic) comparedAt(clips []Clip) (_ []Clip, limit float64) {
	if s.measure == nil {
		return clips, 1
	}
	n := s.measure.Norms[0]
	level := n.Fixed
	if n.Choice != nil {
		level = min(n.Choices-1, typicalLevel)
	}
	clips[s.measure.at].Levels = []int{level}
	return clips, n.Grid.Limit(level)
}

// A rankPlan says how the percentiles, MIN and MAX of an argument are answered: from a histogram, or by choices of buckets.
type rankPlan struct {
	statistic int
	outputs   []int
	fractions []askedFraction
	// alpha is the probability with which an interval may miss.
	alpha float64
	// why says why choices are impossible; it is empty if they are possible.
	why string
	// histogram and choice are the rank errors of the ends of intervals, in units of a unit's limit.
	histogram, choice float64
	chosen            bool
}

// An askedFraction is a fraction that is asked for, with the ends of an interval or without.
type askedFraction struct {
	fraction
	ends bool
}

// add adds an output with its fractions.
func (p *rankPlan) add(i int, fractions []*fraction, ends bool) {
	p.outputs = append(p.outputs, i)
	for _, f := range fractions {
		if f == nil {
			continue
		}
		at := slices.IndexFunc(p.fractions, func(of askedFraction) bool { return of.fraction == *f })
		if at < 0 {
			p.fractions, at = append(p.fractions, askedFraction{fraction: *f}), len(p.fractions)
		}
		p.fractions[at].ends = p.fractions[at].ends || ends
	}
}

// aims returns the choices for all fractions.
func (p *rankPlan) aims() (all []aim) {
	for _, f := range p.fractions {
		all = append(all, f.aims(f.ends)...)
	}
	return all
}

// endsOf reports whether the interval of a fraction has both ends.
func (p *rankPlan) endsOf(f fraction) bool {
	return f.extreme() || slices.Contains(p.fractions, askedFraction{f, true})
}

// ended reports whether the intervals of all fractions have both ends.
func (p *rankPlan) ended() bool {
	return !slices.ContainsFunc(p.fractions, func(f askedFraction) bool { return !p.endsOf(f.fraction) })
}

// explain writes both ways with their errors.
func (p *rankPlan) explain(w *tree, depth int, g *GroupingSet) {
	of, factor := " rows", 1.0
	if s := g.statistics[p.statistic]; s.measure != nil && s.measure.chosen() {
		of = " C rows"
	} else {
		_, factor = s.comparedAt(g.leastClips())
	}
	if p.why != "" {
		w.line(depth, "exponential: %s", p.why)
		return
	}
	ways := []struct {
		name  string
		error float64
	}{{exponential, p.choice}, {"histogram", p.histogram}}
	for i, way := range ways {
		chosen := ""
		if p.chosen == (i == 0) {
			chosen = " (chosen)"
		}
		within := Number(way.error*factor) + of
		if p.ended() {
			within = "the interval ends within " + within + " by rank"
		} else {
			within = "rank within " + within
		}
		w.line(depth, "%s: %s%s", way.name, within, chosen)
	}
}

// A chosenValue is the estimator of a value that was chosen.
type chosenValue interface {
	estimator
	// said is a format for the meaning of an error in rows; it is empty if the error is in the unit of the value.
	said() string
	// saidAfter is said for values that are shown.
	saidAfter(shown []observation) string
}

// said is the meaning of the error of an output if the error is in rows, or "".
func (o *output) said() string {
	if v, ok := o.estimator.(chosenValue); ok {
		return v.said()
	}
	return ""
}

// oneChosen is the common part of estimators of chosen values.
type oneChosen struct{}

func (oneChosen) linear() (float64, bool)              { return 0, false }
func (oneChosen) number(observation) float64           { return math.NaN() }
func (oneChosen) standardError(observation) float64    { return math.NaN() }
func (oneChosen) ends(observation) (low, high float64) { return math.NaN(), math.NaN() }

// choice returns the released index of choice i of a statistic.
func (r observation) choice(statistic, i int) int {
	s := r.statistics[statistic]
	n := r.ints[s.first+1+i]
	if n.Sign() < 0 || n.Cmp(big.NewInt(int64(s.nodes()))) >= 0 {
		return 0 // a remembered release that is not of this statistic
	}
	return int(n.Int64())
}

// choiceError is [statistic.choiceError] at the limits and the confidence of the observation.
func (r observation) choiceError(statistic, i int) float64 {
	s := r.statistics[statistic]
	var levels []int
	if s.measure != nil {
		levels = r.clips[s.measure.at].Levels
	}
	return s.choiceError(i, levels, r.alpha)
}

// rowsOfChoice implements rowed by the released number of rows.
func (r observation) rowsOfChoice(statistic int) (low, high, fewest float64) {
	rows, _ := new(big.Float).SetInt(r.integer(statistic)).Float64()
	half := r.noise(statistic).Quantile(r.alpha)
	return rows - half, rows + half, 1
}

// A modeOf is mode() WITHIN GROUP (ORDER BY x) over public values of x.
type modeOf struct{ overRow }

func newMode(c *call) (form, error) {
	f := modeOf{overRow{filter: c.filter, at: c.At}}
	if c.Within == nil || len(c.Args) != 0 || c.Star {
		return nil, pgerr.New(pgerr.NotAllowed, "mode needs WITHIN GROUP (ORDER BY ...) of one expression").At(c.At).
			WithHint("Write mode() WITHIN GROUP (ORDER BY x).")
	}
	var err error
	if f.arg, err = c.resolver.Expr(c.Within); err != nil {
		return nil, err
	}
	c.shown = []scalar.Expr{f.arg}
	if err := c.plain(); err != nil {
		return nil, err
	}
	if err := c.onNullRows(f.arg); err != nil {
		return nil, err
	}
	if _, err := scalar.KeyText(f.arg.Type(), ""); err != nil {
		return nil, pgerr.New(pgerr.NotAllowed, "mode over values of type %s is not supported on protected data", f.arg.Type()).At(c.At).
			WithHint("Equal values of this type can look different. Cast them to text, numeric or date.")
	}
	return f, wholeDomain(c, f.arg.Type())
}

func (f modeOf) resultType() (pgtype.Type, bool) { return f.arg.Type().Unmodified(), false }

func (modeOf) reports() reports { return noReports }

// maxModes bounds the values among which a mode is chosen.
const maxModes = 10_000

// mostModes bounds the values of a mode if there are so many public groups; 0 stands for private groups. No limit of a read bounds the time
// of the draws.
func mostModes(groups int) int {
	if groups == 0 {
		return privateModes
	}
	return min(maxModes, max(minModes, maxAllModes/groups))
}

// Bounds of the values of a mode: over all public groups together, for each public group in any case, and for each private group.
const (
	maxAllModes  = 1 << 18
	minModes     = 16
	privateModes = 1 << 8
)

func (f modeOf) specialize(c *collector) (estimator, error) {
	texts, _, ok := c.env.Enumerate(f.arg, c.conjuncts, maxModes)
	if !ok || len(texts) == 0 {
		return nil, noPublicValues(f.arg)
	}
	if most := mostModes(c.size); len(texts) > most {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a mode of %d values in each group is one of at most %d here", len(texts), most).
			At(f.arg.Pos()).WithHint("Group by fewer columns, or name fewer values in WHERE: %s IN (...).", describe(f.arg))
	}
	rows := make([][]*string, len(texts))
	for i := range texts {
		rows[i] = []*string{&texts[i]}
	}
	form, err := newModes(term{arg: f.arg}, newList([]int{0}, rows))
	if err != nil {
		return nil, err
	}
	at, err := c.add(form, f.filter, f.at)
	return modeEstimator{statistic: at, values: form.list.elements[0]}, err
}

// noPublicValues refuses the mode of values that are not public.
func noPublicValues(x scalar.Expr) error {
	name := "x"
	if c, ok := scalar.PlainColumn(x); ok {
		name = c.Shown()
	}
	return pgerr.New(pgerr.NoBounds, "mode chooses among public values, and those of %s are not known, or are more than %d",
		describe(x), maxModes).At(x.Pos()).
		WithHint("Name them in WHERE: %s IN (...). Or ask the administrator to declare values, or narrow bounds. "+
			"Of numbers percentile_cont is always one of the middle.", name)
}

// A modeEstimator shows the chosen value.
type modeEstimator struct {
	oneChosen
	values    []*string
	statistic int
}

func (e modeEstimator) statistics() []int { return []int{e.statistic} }

func (modeEstimator) clamped() []term { return nil }

func (e modeEstimator) text(r observation) *string { return e.values[r.choice(e.statistic, 0)] }

func (e modeEstimator) radius(r observation) float64 { return r.choiceError(e.statistic, 0) }

func (modeEstimator) said() string { return "at most %s rows fewer than the most frequent" }

func (e modeEstimator) saidAfter([]observation) string { return e.said() }

func (e modeEstimator) rows(r observation) (low, high, fewest float64) {
	return r.rowsOfChoice(e.statistic)
}

// modes is the statistic of a mode: a count for each value of a public list.
type modes struct {
	histogram // over the numbers of the values
	list      *list
}

// newModes returns the statistic of the values of a list, which must not be empty.
func newModes(t term, l *list) (modes, error) {
	n := len(l.elements[0])
	shape, err := estimate.NewShape(0, int64(n-1), n, max(n, 2))
	return modes{histogram{t, shape}, l}, err
}

// String names the statistic.
func (f modes) String() string {
	return fmt.Sprintf("choice of a value of %s, of %d values", describe(f.arg), f.tree.Buckets())
}

func (modes) choices() int { return 1 }

func (f modes) question() string { return "of " + f.list.arrays[0] }

func (modes) chooser(_ int, limit, epsilonPico int64, pure bool) (Chooser, error) {
	return mechanisms.NewMode(limit, epsilonPico, pure)
}

func (modes) weight() int64 { return 1 }

// noiseWeight is high: the weight of a unit scales all its counts alike, so a low limit is worth little noise.
func (modes) noiseWeight() float64 { return 160 }

// unlikely is ln(k/α)/ε for k values.
func (f modes) unlikely(_ int, epsilon, alpha float64) float64 {
	return math.Log(float64(f.tree.Buckets())/alpha) / epsilon
}

// value returns the value itself, which is numbered once for each unit.
func (f modes) value(r rowColumns) (string, error) { return r.column(f.arg), nil } //nolint:unparam // others can fail

// numberedValue joins an item with the list, and writes the number of its value in the list, from 0; values that are not in the list get
// NULL.
func (f modes) numberedValue(r *reader, alias, column string, from sqltext.Item, t pgtype.Type) (number string, _ sqltext.Item) {
	d := sqltext.List(len(r.set.keys))
	from = &sqltext.Listed{
		Item: from, On: sqltext.Of(d, sqltext.Element) + " = " + sqltext.Of(alias, column),
		List: &sqltext.Table{SQL: "pg_catalog.unnest(" + r.array(f.list, 0, t) + ") WITH ORDINALITY", As: d + "(x, o)"},
	}
	return "CAST(" + sqltext.Of(d, sqltext.Order) + " - 1 AS pg_catalog.int4)", from
}
