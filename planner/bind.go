package planner

import (
	"math/big"
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// Settings are what the analyst and the policy say about one statement.
type Settings struct {
	// EpsilonPico is what the statement may spend, in 10⁻¹² of ε. In a budget of
	// zCDP it stands for ρ = ε²/2. With a target it is the most, else all of it is spent.
	EpsilonPico int64
	// DeltaAtto is what the statement may spend on partition selection, in 10⁻¹⁸ of δ;
	// 0: nothing, so that groups must be public.
	DeltaAtto int64
	// Mechanism is one of [MechanismNames].
	Mechanism string
	// Pure says that a budget in question is of pure differential privacy, so
	// that only mechanisms with a finite ε can be used.
	Pure bool
	// Alpha is one minus the confidence of error statements.
	Alpha float64
	// MaxRows and MaxPartitions lower those of the policy; 0 does not.
	MaxRows, MaxPartitions int64
	// MaxSum bounds what a unit adds to each sum of a group; nil does not.
	MaxSum *big.Rat
	// Target is the error that is asked for; the zero Target asks for none, so that all
	// of EpsilonPico is spent.
	Target Target
	// LeftPico is what noise reduction may spend, in 10⁻¹² of ρ, where that is less than EpsilonPico
	// because no more is left; 0: it may spend EpsilonPico.
	LeftPico int64
	// TypicalPico is the ε of a typical statement of the policy, in 10⁻¹²: the confidence
	// of noise reduction is tuned to it.
	TypicalPico int64
	// Mechanisms are those that the policy allows; nil allows all but recycling.
	Mechanisms []string
	// Limits bound the evaluation cost of a statement.
	Limits policy.Limits
	// Unindexed are tables whose index on the unit is gone since the catalogue was read: no
	// rows are looked up in them.
	Unindexed []catalog.Name
}

// A Plan is everything that will happen to answer one statement, decided.
type Plan struct {
	Blocks []*BlockPlan
	// Event is what will be released, all blocks together.
	Event dp.ComposedEvent
	// Tables are the protected tables that are read.
	Tables []catalog.Name
	// Relations are all that the reads name, public tables too: the plan is right as long
	// as their schema is the one of the catalogue.
	Relations []catalog.Name
	// Shape is a digest of the statement without its constants.
	Shape string
	// Mechanism is the chosen kind.
	Mechanism string
	// Candidates are what there was to choose from to reach a target.
	Candidates []Candidate

	// Untold are the relations whose names are not told.
	Untold Untold

	unit     string
	settings Settings
	// hidden says that a view is read whose definition the policy hides: EXPLAIN does not
	// show the SQL then.
	hidden bool
}

// A BlockPlan answers one release block.
type BlockPlan struct {
	Sets []*GroupingSet
	// Known says that the answer is remembered: nothing is read or released.
	Known bool

	block *block
	alpha float64
}

// Specialize decides everything about the statement for known constants and settings.
func (q *Query) Specialize(values []scalar.Value, s Settings) (*Plan, error) {
	if err := q.Check(values); err != nil {
		return nil, err
	}
	shape, err := q.stmt.Fingerprint()
	if err != nil {
		return nil, err
	}
	p := &Plan{Tables: q.Tables(), Relations: q.Relations(), unit: q.cat.Unit(), settings: s, Shape: shape, hidden: q.readsHiddenView(), Untold: q.Untold()}
	env := &scalar.Env{Values: values, TimeZones: q.cat.TimeZones(), UTF8: true, Before14: q.cat.Before14()} // the proxy reads from no other encoding
	var cells int
	var evalCost int64
	for _, b := range q.blocks {
		if err := b.checkLevels(s); err != nil {
			return nil, err
		}
		if err := b.checkOffsets(env); err != nil {
			return nil, err
		}
		bp, err := q.planBlock(b, env, s, &cells, &evalCost)
		if err != nil {
			return nil, err
		}
		p.Blocks = append(p.Blocks, bp)
	}
	if err := p.assign(); err != nil {
		return nil, err
	}
	for _, bp := range p.Blocks {
		p.Event = append(p.Event, bp.Event()...)
	}
	return p, nil
}

// checkOffsets refuses an OFFSET below an aggregate that would skip rows.
func (b *block) checkOffsets(env *scalar.Env) error {
	for _, x := range b.offsets {
		skips, err := env.Floats(x)
		if err != nil {
			return err
		}
		if n := skips[0]; n != nil && *n != 0 {
			return pgerr.New(pgerr.NotAllowed, "LIMIT or OFFSET below an aggregate cannot be used on protected rows").At(x.Pos()).
				WithHint("Leave it out here; it can stand above the aggregate.")
		}
	}
	return nil
}

func (q *Query) readsHiddenView() bool {
	return slices.ContainsFunc(q.stmt.Protected, func(t ast.TableRef) bool {
		return q.cat.Conceals(catalog.Name{Schema: t.Resolved.Schema, Name: t.Resolved.Name})
	})
}

// planBlock plans one block but for its mechanisms. It adds to the numbers that the statement
// releases of public groups, and to the cost of its reads for one row.
func (q *Query) planBlock(b *block, env *scalar.Env, s Settings, cells *int, evalCost *int64) (*BlockPlan, error) {
	sp := &specializer{q: q, b: b, env: env, settings: s, domains: domains{map[*factor][][]*string{}, map[string]*list{}}}
	bp := &BlockPlan{block: b, alpha: s.Alpha}
	n, err := sp.evalCost()
	if err != nil {
		return nil, err
	}
	for _, set := range b.sets {
		p, err := sp.groupingSet(set)
		if err != nil {
			return nil, err
		}
		if *cells += p.size * (len(p.Mechanisms) + len(p.keys)); *cells > maxCells {
			return nil, tooManyCells()
		}
		bp.Sets = append(bp.Sets, p)
	}
	if !b.reads() {
		return bp, nil
	}
	limits := s.Limits
	limits.PublicRows = q.cat.PublicRows()
	rows, err := b.source.Fanout(limits)
	if err != nil {
		return nil, err
	}
	for _, p := range bp.Sets {
		if err := sp.read(p); err != nil {
			return nil, err
		}
	}
	return bp, sp.checkEvalCost(n, bp.Sets, rows, evalCost)
}

func tooManyCells() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the statement would release more than %d numbers", maxCells).
		WithHint("Ask for fewer groups or fewer aggregates.")
}

// Reads reports whether the plan reads protected data at all.
func (p *Plan) Reads() bool { return len(p.Event) > 0 }

// Rest returns the plan without the blocks that are known: they are not read, and
// not released.
func (p *Plan) Rest(known []bool) *Plan {
	rest := *p
	rest.Blocks, rest.Event = make([]*BlockPlan, len(p.Blocks)), nil
	for i, b := range p.Blocks {
		if !known[i] {
			rest.Blocks[i] = b
			rest.Event = append(rest.Event, b.Event()...)
			continue
		}
		without := *b
		without.Known = true
		rest.Blocks[i] = &without
	}
	return &rest
}

// Reads reports whether the block reads protected data.
func (b *BlockPlan) Reads() bool {
	return !b.Known && slices.ContainsFunc(b.Sets, func(p *GroupingSet) bool { return len(p.Reads) > 0 })
}

// Event is what the block releases.
func (b *BlockPlan) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	if b.Known {
		return e
	}
	for _, p := range b.Sets {
		e = append(e, p.Event()...)
	}
	return e
}

// Question returns all of the block that its answer depends on: what is read and
// with which constants, in which order it is shown, and the noise. The secret and
// the data are not in it.
func (b *BlockPlan) Question(values []scalar.Value) [][]byte {
	return append([][]byte{[]byte(dp.Exact(b.Event()))}, b.reading(values)...)
}

// reading returns what is read, and with which constants.
func (b *BlockPlan) reading(values []scalar.Value) [][]byte {
	var parts [][]byte
	for _, p := range b.Sets {
		parts = append(parts, []byte(strconv.Itoa(p.size)))
		for _, l := range p.lists {
			for _, row := range l.rows {
				parts = append(parts, []byte(ArrayText(row)))
			}
		}
		for _, r := range p.Reads {
			parts = append(parts, []byte(r.SQL))
			for _, param := range r.Params {
				parts = append(parts, param.question(values)...)
			}
		}
	}
	return parts
}

// question writes a parameter with the value it has.
func (p Param) question(values []scalar.Value) [][]byte {
	parts := [][]byte{{byte(p.Kind)}, []byte(p.Text)}
	if p.Kind != FoldParam {
		return parts
	}
	v := values[p.Fold]
	form := "value"
	switch {
	case v.Bytes == nil:
		form = "null"
	case v.Binary:
		form = "binary"
	}
	return append(parts, []byte(strconv.FormatUint(uint64(v.OID), 10)), []byte(form), v.Bytes)
}

// share is what one measure of the statement may spend, and on what.
type share struct {
	kind        string
	epsilonPico int64
	rhoPico     int64
	deltaAtto   int64 // of one selection
}

func (s share) mechanism(sens dp.Sensitivity) (mechanisms.Mechanism, error) {
	if s.kind == gaussian {
		return mechanisms.GaussianFor(sens, s.rhoPico)
	}
	return mechanisms.LaplaceFor(sens, s.epsilonPico)
}

// measure is what the share's main parameter is of.
func (s share) measure() dp.Measure {
	if s.kind == gaussian {
		return dp.ZCDP
	}
	return dp.PureDP
}

func (s share) pico() int64 {
	if s.kind == gaussian {
		return s.rhoPico
	}
	return s.epsilonPico
}

// withPico is a share of the same kind with another amount.
func (s share) withPico(pico int64) share {
	s.rhoPico, s.epsilonPico = pico, pico
	return s
}

// assign divides the budget among the measures and chooses the mechanism. The
// Gaussian mechanism gets ρ = ε²/2, the cost in zCDP that every ε-DP mechanism
// stays below, so that both cost about the same and the better one is the one
// with the smaller error.
func (p *Plan) assign() error {
	s := p.settings
	if err := s.checkMechanism(); err != nil {
		return err
	}
	n, selections := p.shares(), int64(0)
	for _, set := range p.sets() {
		if set.selects() {
			selections++
		}
	}
	p.Mechanism = laplace
	if n == 0 {
		return nil
	}
	lap := share{kind: laplace, epsilonPico: s.EpsilonPico / n, rhoPico: halfSquare(s.EpsilonPico) / n}
	if selections > 0 {
		if s.Pure || s.DeltaAtto < selections {
			return noDelta(p)
		}
		lap.deltaAtto = s.DeltaAtto / selections
	}
	if s.Target.asked() && n > selections {
		return p.reachTarget(lap, selections, n)
	}
	gau := lap
	gau.kind = gaussian
	switch {
	case s.Mechanism == gaussian && s.Pure:
		return pgerr.New(pgerr.Imprecise, "the gaussian mechanism has no finite cost in a pure budget").
			WithHint("SET dp.mechanism = laplace, or auto.")
	case !s.allows(laplace) && (s.Pure || !s.allows(gaussian)):
		return pgerr.New(pgerr.Imprecise, "the policy allows no mechanism for this statement").
			WithHint("SET dp.error or dp.relative_error: other mechanisms may be allowed for that.")
	case lap.epsilonPico < 1 || !s.Pure && gau.rhoPico < 1:
		return pgerr.New(pgerr.Imprecise, "dp.epsilon is too small for a statement with %d aggregates", n).
			WithHint("Raise dp.epsilon.")
	case s.Mechanism == laplace || s.Pure || !s.allows(gaussian):
	case s.Mechanism == gaussian || !s.allows(laplace):
		lap = gau
	default:
		better, err := p.better(lap, gau, s.Alpha)
		if err != nil {
			return err
		}
		lap = better
	}
	p.Mechanism = lap.kind
	for _, set := range p.sets() {
		if err := set.assign(lap); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) sets() []*GroupingSet {
	var sets []*GroupingSet
	for _, b := range p.Blocks {
		sets = append(sets, b.Sets...)
	}
	return sets
}

// noDelta refuses private groups where nothing may be spent on their selection.
func noDelta(p *Plan) error {
	for _, b := range p.Blocks {
		for _, set := range b.Sets {
			if !set.selects() {
				continue
			}
			at := b.block.at
			if len(set.keys) > 0 {
				at = b.block.keys[set.keys[0]].at
			}
			return pgerr.New(pgerr.PrivateGroupKey, "which groups occur is itself protected, and the budget has no delta to select them").At(at).
				WithHint("Group by columns with declared values or bounds, or ask the administrator for a budget with delta.")
		}
	}
	return nil
}

// better returns the share with the smaller error over all measures together.
func (p *Plan) better(a, b share, alpha float64) (share, error) {
	ratio := 0.0
	for _, set := range p.sets() {
		for _, m := range set.statistics {
			ma, err := a.mechanism(m.sensitivity)
			if err != nil {
				return share{}, imprecise()
			}
			mb, err := b.mechanism(m.sensitivity)
			if err != nil {
				return share{}, imprecise()
			}
			qa, qb := ma.Quantile(alpha), mb.Quantile(alpha)
			ratio += (qb - qa) / max(qa, qb, 1)
		}
	}
	if ratio <= 0 {
		return b, nil
	}
	return a, nil
}

// halfSquare returns ⌊ε²/2⌋ in picos.
func halfSquare(epsilonPico int64) int64 {
	e := big.NewInt(epsilonPico)
	e.Mul(e, e)
	return e.Quo(e, big.NewInt(2*dp.PicoPerUnit)).Int64()
}

func imprecise() error {
	return pgerr.New(pgerr.Imprecise, "the noise would be too large for any mechanism").
		WithHint("Raise dp.epsilon, or ask for fewer aggregates.")
}
