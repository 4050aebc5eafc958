package proxy

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

const (
	cachedTexts     = 1000
	cachedTextBytes = 8 << 20
	cachedQueries   = 4 // type combinations of one statement's parameters
	cachedPlans     = 10_000
	cachedPlanBytes = 64 << 20
	cachedLists     = 10_000
	cachedListBytes = 64 << 20
)

// cache keeps the analysis of recent texts, recent plans, and the lists of their grouping keys.
type cache struct {
	names ast.Names
	texts *recent[string, []*text]
	plans *recent[planKey, *planner.Plan]
	lists *recent[planKey, []scalar.Value]
}

func newCache(names ast.Names) *cache {
	return &cache{
		names, newRecent[string, []*text](cachedTexts, cachedTextBytes), newRecent[planKey, *planner.Plan](cachedPlans, cachedPlanBytes),
		newRecent[planKey, []scalar.Value](cachedLists, cachedListBytes),
	}
}

// get returns the statements of a text, parsing it if it is not remembered.
// Refused texts are not remembered.
func (c *cache) get(t parser.Text) ([]*text, error) {
	key := t.Key()
	if texts, ok := c.texts.get(key); ok {
		return texts, nil
	}
	script, err := t.Parse(c.names)
	if err != nil {
		return nil, err
	}
	texts := make([]*text, 0, len(script.Statements))
	for _, s := range script.Statements {
		texts = append(texts, &text{stmt: s, plans: c.plans, lists: c.lists})
	}
	c.texts.add(key, texts, len(key))
	return texts, nil
}

// text is one statement of a client's text with its analysis: all
// of that depends on the text, the types of its parameters and the policy alone.
type text struct {
	stmt    *parser.Statement
	plans   *recent[planKey, *planner.Plan]
	lists   *recent[planKey, []scalar.Value] // of grouping keys
	inquiry atomic.Pointer[inquiry]

	mu      sync.Mutex
	queries map[string]*analysed
}

// analysed is a statement analysed for certain types of parameters.
type analysed struct {
	query *planner.Query
	err   error
	plans *recent[planKey, *planner.Plan]
}

// analyse resolves the statement, once for each types of its parameters, unless the work was ended.
func (t *text) analyse(w *work.Meter, cat *policy.Model, params []uint32) *analysed {
	key := make([]byte, 0, 4*len(params))
	for _, oid := range params {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	if a := t.known(key); a != nil {
		return a
	}
	a := &analysed{plans: t.plans}
	a.query, a.err = planner.Analyze(w, cat, t.stmt, params)
	if w.Err() == nil {
		a = t.remember(key, a)
	}
	return a
}

func (t *text) known(key []byte) *analysed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queries[string(key)]
}

// remember keeps an analysis, and returns the one that was kept first.
func (t *text) remember(key []byte, a *analysed) *analysed {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.queries[string(key)]; first != nil {
		return first
	}
	if len(t.queries) >= cachedQueries || t.queries == nil {
		t.queries = map[string]*analysed{}
	}
	t.queries[string(key)] = a
	return a
}

// A lending has the plans that a statement uses: nobody else does until it ends, since what is remembered decides with which budget a plan
// shows its parts.
type lending map[planKey]*planner.Plan

// end keeps the plans for other statements. Of a statement that has failed a read may go on, and its plans are not kept.
func (l lending) end(plans *recent[planKey, *planner.Plan]) {
	for key, p := range l {
		plans.add(key, p, p.Bytes())
	}
}

// plan decides everything about the statement, once for each constants and settings.
func (a *analysed) plan(w *work.Meter, values []scalar.Value, s planner.Settings, lent lending) (*planner.Plan, error) {
	key := newPlanKey(a.query, values, s)
	if p := lent[key]; p != nil {
		return p, nil
	}
	p, ok := a.plans.take(key)
	if !ok {
		var err error
		if p, err = a.query.Specialize(w, values, s); err != nil {
			return nil, err
		}
	}
	if lent != nil {
		lent[key] = p
	}
	return p, nil
}

// planKey is a query with a digest of all that its plan depends on beside.
type planKey struct {
	query  *planner.Query
	digest [sha256.Size]byte
}

// newPlanKey digests constants and settings.
func newPlanKey(q *planner.Query, values []scalar.Value, s planner.Settings) planKey {
	key := appendSettings(make([]byte, 0, 1<<10), s)
	for _, v := range values {
		key = appendNumbers(key, int64(v.OID), flag(v.Binary), flag(v.Bytes == nil))
		key = appendText(key, v.Bytes)
	}
	return planKey{q, sha256.Sum256(key)}
}

// appendSettings writes every setting, such that different ones are different bytes. A test changes
// each, so that none of them can be forgotten here.
func appendSettings(key []byte, s planner.Settings) []byte {
	key = appendNumbers(key, s.EpsilonPico, s.DeltaAtto, flag(s.Pure), floatBits(s.Alpha), s.MaxRows, s.MaxPartitions,
		flag(s.ShowSmallGroups), flag(s.Consistent), floatBits(s.Target.Error), floatBits(s.Target.Relative), floatBits(s.Target.Fraction),
		s.LeftPico, s.TypicalPico, s.Limits.PublicFanout, s.Limits.Work, flag(s.MaxSum != nil), flag(s.Mechanisms != nil),
		int64(len(s.Mechanisms)), flag(s.Limits.PublicRows != nil), flag(s.Limits.Values != nil), flag(s.Limits.Answers != nil),
		flag(s.LimitRetry), flag(s.NoIntervals),
		s.MinimumPeople, floatBits(s.Judgment))
	key = appendText(appendText(appendText(appendText(key, s.Mechanism), s.Contribution), s.Top), s.EmptyGroups)
	key = appendText(key, s.Totals)
	if s.MaxSum != nil {
		key = appendText(key, s.MaxSum.String())
	}
	for _, m := range s.Mechanisms {
		key = appendText(key, m)
	}
	for _, n := range slices.SortedFunc(maps.Keys(s.Limits.PublicRows), catalog.Name.Compare) {
		key = appendNumbers(appendText(appendText(key, n.Schema), n.Name), s.Limits.PublicRows[n])
	}
	return key
}

func appendNumbers(key []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, uint64(n))
	}
	return key
}

// appendText writes a text behind its length.
func appendText[T ~string | ~[]byte](key []byte, text T) []byte {
	return append(appendNumbers(key, int64(len(text))), text...)
}

func floatBits(f float64) int64 { return int64(math.Float64bits(f)) }

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
