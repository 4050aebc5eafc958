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

// A choosing form has counts that are not released: some of them are chosen, by the exponential
// mechanism. Released is the number of its rows with noise, and then the index of each choice.
type choosing interface {
	valueForm
	// choices is how many are chosen.
	choices() int
	// chooser chooses number i where a unit has at most a weight, at ε = epsilonPico·10⁻¹²; pure says that the
	// price is one of ε.
	chooser(i int, limit, epsilonPico int64, pure bool) (Chooser, error)
	// question names all that the choices depend on, beside the read and the prices.
	question() string
	// weight is by how much more than its weight a unit changes a score.
	weight() int64
	// noiseWeight is the weight of noise in the penalty of the limit's choice.
	noiseWeight() float64
	// unlikely is how far a choice is from the best, or an end from the percentile, in rows, but with probability alpha,
	// where the mechanism
	// is that of one row and ε.
	unlikely(i int, epsilon, alpha float64) float64
}

// A Chooser draws the index of one of several counts, which a client may see.
type Chooser interface {
	Event() dp.Event
	String() string
	Choose(src mechanisms.Source, weights []mechanisms.Private) (int, error)
}

// choosing returns the statistic as one of which counts are chosen, or nil.
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

// countTenths is the part of the budget of choices that the number of their rows is released for: a group with fewer
// rows than a choice can be off by has none.
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

// choiceEpsilon is the ε of a choice for a price: by its bounded range the choice is ε²/8-zCDP.
func (s share) choiceEpsilon(pico int64) int64 {
	if s.kind == gaussian {
		return mechanisms.BoundedRangeFor(pico)
	}
	return pico
}

// forChoices is the share as choices are paid with: in ρ where a budget has that, since their norms are
// ℓ₂ then, and their price is that of a bounded range.
func (s share) forChoices() share {
	s.kind = s.choices
	return s
}

// choosersFor returns the mechanisms for a budget, where a unit has at most a weight.
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

// choosersAt returns the mechanisms of a statistic, whose units were cut at limits.
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

// Choices are those of one statistic: among the Nodes integers of a partition from Place on. Their released
// integers are from First on: the number of rows, and the choices in the order of Of.
type Choices struct {
	Place, Nodes, First int
	Count               contribution.Noise
	Of                  []Chooser
}

// choiceError is how far choice i of a statistic is from the best, or an end from the percentile, in rows, but with
// probability alpha, where its
// unit counts up to the limit of some levels.
func (s *statistic) choiceError(i int, levels []int, alpha float64) float64 {
	limit, of := 1.0, s.budget
	if s.measure != nil {
		limit, of = s.measure.Norms[0].Grid.Limit(levels[0]), s.share()
	}
	epsilon := float64(of.choiceEpsilon(must(s.picos(of))[1+i])) / dp.PicoPerUnit
	return math.Ceil(limit*s.choosing().unlikely(i, epsilon, alpha) - 1e-9)
}

// choosersWithin returns the mechanisms where the limits of the measure are those of levels.
func (s *statistic) choosersWithin(levels []int) ([]Chooser, error) {
	sens, err := s.measure.sensitivity(s, levels)
	if err != nil {
		return nil, err
	}
	return s.choosersFor(s.share(), sens.LInf)
}

// choiceEvents is the release of the choices, whose price does not depend on limits.
func (s *statistic) choiceEvents() dp.ComposedEvent {
	return eventsOf(must(s.choosersWithin(s.measure.leastLevels())))
}

// choiceFraction returns the fraction bits of the weights that choices are among.
func (s *statistic) choiceFraction() uint {
	if s.measure == nil {
		return 0
	}
	return s.measure.lattice(s)
}

// typicalLevel is a level of limits where whole numbers of noise are as good as any.
const typicalLevel = 20

// comparedAt sets, among the least limits, those of a statistic at which both ways are compared: their errors grow
// with the limit alike.
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

// A rankPlan says how percentiles, MIN and MAX of one argument are answered: by a histogram, from which all are read, or by
// choices of buckets for each.
type rankPlan struct {
	statistic int
	outputs   []int
	fractions []askedFraction
	// alpha is the probability with which an interval may miss.
	alpha float64
	// why says why there is no choice; empty if there could be one.
	why string
	// histogram and choice are how far the ends of intervals may be by rank, in rows of a unit's limit.
	histogram, choice float64
	chosen            bool
}

// An askedFraction is one that is asked for, with the ends of an interval or without.
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

// aims are the choices of all fractions.
func (p *rankPlan) aims() (all []aim) {
	for _, f := range p.fractions {
		all = append(all, f.aims(f.ends)...)
	}
	return all
}

// endsOf reports whether a fraction has the ends of an interval.
func (p *rankPlan) endsOf(f fraction) bool {
	return f.extreme() || slices.Contains(p.fractions, askedFraction{f, true})
}

// ended reports whether all fractions have.
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

// A chosenValue is an estimator of a value that was chosen. Where it tells the meaning of its radius, that is in rows, and known before the
// answer but for the limit.
type chosenValue interface {
	estimator
	// said tells the meaning of the error, with its rows; empty if that is in the unit of the value.
	said() string
	// saidAfter says it of values that are shown.
	saidAfter(shown []observation) string
}

// said is what the error of the output means, if that is in rows.
func (o *output) said() string {
	if v, ok := o.estimator.(chosenValue); ok {
		return v.said()
	}
	return ""
}

// A oneChosen is the common part of estimators of chosen values.
type oneChosen struct{}

func (oneChosen) linear() (float64, bool)              { return 0, false }
func (oneChosen) number(observation) float64           { return math.NaN() }
func (oneChosen) standardError(observation) float64    { return math.NaN() }
func (oneChosen) ends(observation) (low, high float64) { return math.NaN(), math.NaN() }

// choice returns the index that choice i of a statistic released.
func (r observation) choice(statistic, i int) int {
	s := r.statistics[statistic]
	n := r.ints[s.first+1+i]
	if n.Sign() < 0 || n.Cmp(big.NewInt(int64(s.nodes()))) >= 0 {
		return 0 // a record that is not of this statistic
	}
	return int(n.Int64())
}

// choiceError is how far that is from the best, or from the percentile, in rows, but with the probability of an error.
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

// A modeOf is mode() WITHIN GROUP (ORDER BY x): one of the public values of x.
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

// maxModes bounds the values that a mode is one of.
const maxModes = 10_000

// mostModes bounds the values of a mode in so many public groups, 0 for private ones: the draws of all groups take
// time that no limit of a read bounds.
func mostModes(groups int) int {
	if groups == 0 {
		return privateModes
	}
	return min(maxModes, max(minModes, maxAllModes/groups))
}

// Bounds of the values of a mode: of all public groups together, of each whatever their number is, and of each
// private one.
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

// noPublicValues refuses the mode of values that are not known without looking.
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

// A modeEstimator shows the value that was chosen.
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

// Modes are values of a public list, of which the most frequent is asked for.
type modes struct {
	histogram // of the numbers of the values
	list      *list
}

// newModes returns the statistic of the values of a list, which has one at least.
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

// noiseWeight of a mode: one weight of each unit moves all counts alike, mostly, so that little noise is worth a low limit.
func (modes) noiseWeight() float64 { return 160 }

// unlikely is ln(k/α)/ε, of k values.
func (f modes) unlikely(_ int, epsilon, alpha float64) float64 {
	return math.Log(float64(f.tree.Buckets())/alpha) / epsilon
}

// value is the value itself: it is numbered once for each unit.
func (f modes) value(r rowColumns) (string, error) { return r.column(f.arg), nil } //nolint:unparam // others can fail

// numberedValue writes the number of a value among those of the list, from 0 on, from an item with values, which it
// joins with the list; a value that is not there has none.
func (f modes) numberedValue(r *reader, alias, column string, from sqltext.Item, t pgtype.Type) (number string, _ sqltext.Item) {
	d := sqltext.List(len(r.set.keys))
	from = &sqltext.Listed{
		Item: from, On: sqltext.Of(d, sqltext.Element) + " = " + sqltext.Of(alias, column),
		List: &sqltext.Table{SQL: "pg_catalog.unnest(" + r.array(f.list, 0, t) + ") WITH ORDINALITY", As: d + "(x, o)"},
	}
	return "CAST(" + sqltext.Of(d, sqltext.Order) + " - 1 AS pg_catalog.int4)", from
}
