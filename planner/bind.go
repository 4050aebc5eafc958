package planner

import (
	"math/big"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
)

// Settings are what the analyst and the policy say about one statement.
type Settings struct {
	// EpsilonPico is what the statement may spend, in 10⁻¹² of ε. In a budget of
	// zCDP it stands for ρ = ε²/2.
	EpsilonPico int64
	// Mechanism is "auto", "laplace" or "gaussian".
	Mechanism string
	// Pure says that a budget in question is of pure differential privacy, so
	// that only mechanisms with a finite ε can be used.
	Pure bool
	// Alpha is one minus the confidence of error statements.
	Alpha float64
}

// A Value is a constant as the mirror evaluated it: nil Bytes are NULL.
type Value struct {
	OID    uint32
	Binary bool
	Bytes  []byte
}

// A Plan is everything that will happen to answer one statement, decided.
type Plan struct {
	Blocks []*BlockPlan
	// Event is what will be released, all blocks together.
	Event dp.ComposedEvent
	// Tables are the protected tables that are read.
	Tables []catalog.Name
	// Shape is a digest of the plan without its constants.
	Shape string
	// Mechanism is the chosen kind.
	Mechanism string

	unit     string
	settings Settings
}

// A BlockPlan answers one release block.
type BlockPlan struct {
	// SQL reads the exact aggregates, one row a partition: the ordinals of its
	// keys, then the measures. Empty: nothing is read.
	SQL    string
	Params []Param
	// Mechanisms has one mechanism for each measure.
	Mechanisms []mechanisms.Mechanism

	block *block
	alpha float64
}

// Bind checks the values of the constants and chooses the mechanisms. The
// settings' budget is shared equally by all measures of the statement. A plan is
// immutable and does not depend on the values: it is made once for each settings.
func (t *Template) Bind(values []Value, s Settings) (*Plan, error) {
	for _, use := range t.likes {
		if v := values[use.fold]; v.Bytes != nil {
			if err := checkPattern(string(v.Bytes), use.at); err != nil {
				return nil, err
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.plans[s]; p != nil {
		return p, nil
	}
	p, err := t.plan(s)
	if err != nil {
		return nil, err
	}
	if len(t.plans) >= keptPlans || t.plans == nil {
		t.plans = map[Settings]*Plan{}
	}
	t.plans[s] = p
	return p, nil
}

// keptPlans bounds the settings that a template remembers plans for.
const keptPlans = 8

func (t *Template) plan(s Settings) (*Plan, error) {
	q := t.query
	p := &Plan{Tables: q.Tables(), Shape: t.shape, unit: q.cat.unit, settings: s}
	share, err := t.share(s)
	if err != nil {
		return nil, err
	}
	p.Mechanism = share.kind
	for i, b := range q.blocks {
		bp := &BlockPlan{SQL: t.blocks[i].sql, Params: t.blocks[i].params, block: b, alpha: s.Alpha}
		for _, m := range b.measures {
			mech, err := share.mechanism(b.sensitivity(m))
			if err != nil {
				return nil, imprecise(err)
			}
			bp.Mechanisms = append(bp.Mechanisms, mech)
		}
		p.Event = append(p.Event, bp.Event()...)
		p.Blocks = append(p.Blocks, bp)
	}
	return p, nil
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
		without.SQL, without.Mechanisms = "", nil
		rest.Blocks[i] = &without
	}
	return &rest
}

// Event is what the block releases.
func (b *BlockPlan) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	for _, m := range b.Mechanisms {
		e = append(e, m.Event())
	}
	return e
}

// Question returns all of the block that its answer depends on: what is read and
// with which constants, in which order it is shown, and the noise. The secret and
// the data are not in it.
func (b *BlockPlan) Question(values []Value) [][]byte {
	parts := [][]byte{[]byte(b.SQL), []byte(dp.Exact(b.Event())), []byte(strconv.Itoa(b.Size()))}
	for _, p := range b.Params {
		parts = append(parts, []byte{byte(p.Kind)}, []byte(p.Text))
		if p.Kind == FoldParam {
			v := values[p.Fold]
			null := byte(0)
			if v.Bytes == nil {
				null = 1
			}
			parts = append(parts, []byte(strconv.FormatUint(uint64(v.OID), 10)), []byte{null}, v.Bytes)
			if v.Binary {
				parts = append(parts, []byte("binary"))
			}
		}
	}
	return parts
}

func (b *block) sensitivity(m measure) dp.Sensitivity {
	return dp.Sensitivity{L0: b.l0(), LInf: b.linf(m)}
}

// share is what one measure of the statement may spend, and on what.
type share struct {
	kind        string
	epsilonPico int64
	rhoPico     int64
}

func (s share) mechanism(sens dp.Sensitivity) (mechanisms.Mechanism, error) {
	if s.kind == gaussian {
		return mechanisms.GaussianFor(sens, s.rhoPico)
	}
	return mechanisms.LaplaceFor(sens, s.epsilonPico)
}

// Names of the mechanisms in settings and plans.
const (
	auto     = "auto"
	laplace  = "laplace"
	gaussian = "gaussian"
)

// MechanismNames are the values of the setting dp.mechanism.
func MechanismNames() []string { return []string{auto, laplace, gaussian} }

// share divides the budget among the measures and chooses the mechanism. The
// Gaussian mechanism gets ρ = ε²/2, the cost in zCDP that every ε-DP mechanism
// stays below, so that both cost about the same and the better one is the one
// with the smaller error.
func (t *Template) share(s Settings) (share, error) {
	n := int64(0)
	for _, b := range t.query.blocks {
		n += int64(len(b.measures))
	}
	if n == 0 {
		return share{kind: laplace}, nil
	}
	lap := share{kind: laplace, epsilonPico: s.EpsilonPico / n}
	gau := share{kind: gaussian, rhoPico: halfSquare(s.EpsilonPico) / n}
	switch {
	case s.Mechanism == gaussian && s.Pure:
		return share{}, pgerr.New(pgerr.Imprecise, "the gaussian mechanism has no finite cost in a pure budget").
			WithHint("SET dp.mechanism = laplace, or auto.")
	case lap.epsilonPico < 1 || !s.Pure && gau.rhoPico < 1:
		return share{}, pgerr.New(pgerr.Imprecise, "dp.epsilon is too small for a statement with %d aggregates", n).
			WithHint("Raise dp.epsilon.")
	case s.Mechanism == laplace || s.Pure:
		return lap, nil
	case s.Mechanism == gaussian:
		return gau, nil
	}
	return t.better(lap, gau, s.Alpha)
}

// better returns the share with the smaller error over all measures together.
func (t *Template) better(a, b share, alpha float64) (share, error) {
	ratio := 0.0
	for _, bl := range t.query.blocks {
		for _, m := range bl.measures {
			ma, err := a.mechanism(bl.sensitivity(m))
			if err != nil {
				return share{}, imprecise(err)
			}
			mb, err := b.mechanism(bl.sensitivity(m))
			if err != nil {
				return share{}, imprecise(err)
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

func imprecise(error) error {
	return pgerr.New(pgerr.Imprecise, "the noise would be too large for any mechanism").
		WithHint("Raise dp.epsilon, or ask for fewer aggregates.")
}
