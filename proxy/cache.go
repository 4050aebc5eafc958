package proxy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

const (
	cachedTexts     = 1000
	cachedTextBytes = 8 << 20
	cachedQueries   = 4 // type combinations of one statement's parameters
	cachedPlans     = 10_000
	cachedPlanBytes = 64 << 20
)

// cache keeps the analysis of recent texts, and recent plans.
type cache struct {
	texts *recent[string, []*text]
	plans *recent[planKey, *planner.Plan]
}

func newCache() *cache {
	return &cache{newRecent[string, []*text](cachedTexts, cachedTextBytes), newRecent[planKey, *planner.Plan](cachedPlans, cachedPlanBytes)}
}

// get returns the statements of a text, parsing it if it is not remembered.
// Refused texts are not remembered.
func (c *cache) get(sql string, parse func() (*parser.Script, error)) ([]*text, error) {
	if texts, ok := c.texts.get(sql); ok {
		return texts, nil
	}
	script, err := parse()
	if err != nil {
		return nil, err
	}
	texts := make([]*text, 0, len(script.Statements))
	for _, s := range script.Statements {
		texts = append(texts, &text{stmt: s, plans: c.plans})
	}
	c.texts.add(sql, texts, len(sql))
	return texts, nil
}

// text is one statement of a client's text with its analysis: all
// of that depends on the text, the types of its parameters and the policy alone.
type text struct {
	stmt  *parser.Statement
	plans *recent[planKey, *planner.Plan]

	mu      sync.Mutex
	queries map[string]*analysed
}

// analysed is a statement analysed for certain types of parameters.
type analysed struct {
	query *planner.Query
	err   error
	plans *recent[planKey, *planner.Plan]
}

// analyse resolves the statement, once for each types of its parameters.
func (t *text) analyse(cat *policy.Model, params []uint32) *analysed {
	key := make([]byte, 0, 4*len(params))
	for _, oid := range params {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.queries[string(key)]; a != nil {
		return a
	}
	a := &analysed{plans: t.plans}
	a.query, a.err = planner.Analyze(cat, t.stmt, params)
	if len(t.queries) >= cachedQueries || t.queries == nil {
		t.queries = map[string]*analysed{}
	}
	t.queries[string(key)] = a
	return a
}

// plan decides everything about the statement, once for each constants and settings.
func (a *analysed) plan(values []scalar.Value, s planner.Settings) (*planner.Plan, error) {
	key := newPlanKey(a.query, values, s)
	if p, ok := a.plans.get(key); ok {
		return p, nil
	}
	p, err := a.query.Specialize(values, s)
	if err != nil {
		return nil, err
	}
	a.plans.add(key, p, p.Bytes())
	return p, nil
}

// planKey is a query with a digest of all that its plan depends on beside.
type planKey struct {
	query  *planner.Query
	digest [sha256.Size]byte
}

// newPlanKey digests constants and settings. The settings are written whole, in the syntax of
// Go, so that none of them can be forgotten here.
func newPlanKey(q *planner.Query, values []scalar.Value, s planner.Settings) planKey {
	sum := s.MaxSum
	s.MaxSum = nil // it would be written as its address
	key := fmt.Appendf(nil, "%v %#v", sum, s)
	for _, v := range values {
		key = fmt.Appendf(key, "\x00%d %t %t %d ", v.OID, v.Binary, v.Bytes == nil, len(v.Bytes))
		key = append(key, v.Bytes...)
	}
	return planKey{q, sha256.Sum256(key)}
}
