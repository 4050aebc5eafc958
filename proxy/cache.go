package proxy

import (
	"container/list"
	"encoding/binary"
	"fmt"
	"sync"

	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
)

const (
	cachedTexts   = 1000
	cachedBytes   = 8 << 20 // of texts
	cachedQueries = 4       // type combinations of one statement's parameters
	cachedPlans   = 16      // values of its constants
)

// text is one statement of a client's text with what was found out about it: all
// of that depends on the text, the types of its parameters and the policy alone.
type text struct {
	stmt *parser.Statement

	mu      sync.Mutex
	queries map[string]*analysed
}

// analysed is a statement analysed for certain types of parameters.
type analysed struct {
	query *planner.Query
	err   error

	mu    sync.Mutex
	plans map[string]*planner.Plan
}

// analyse resolves the statement, once for each types of its parameters.
func (t *text) analyse(cat *planner.Catalog, params []uint32) *analysed {
	key := make([]byte, 0, 4*len(params))
	for _, oid := range params {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.queries[string(key)]; a != nil {
		return a
	}
	a := &analysed{}
	a.query, a.err = planner.Analyze(cat, t.stmt, params)
	if len(t.queries) >= cachedQueries || t.queries == nil {
		t.queries = map[string]*analysed{}
	}
	t.queries[string(key)] = a
	return a
}

// plan decides everything about the statement, once for each constants and settings.
func (a *analysed) plan(values []scalar.Value, s planner.Settings) (*planner.Plan, error) {
	key := planKey(values, s)
	a.mu.Lock()
	p := a.plans[key]
	a.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := a.query.Bind(values, s)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.plans) >= cachedPlans || a.plans == nil {
		a.plans = map[string]*planner.Plan{}
	}
	a.plans[key] = p
	return p, nil
}

// planKey writes all that a plan depends on beside its query. Limits and time zones are
// those of the proxy. Names are written part by part: a dot can be in either.
func planKey(values []scalar.Value, s planner.Settings) string {
	key := fmt.Appendf(nil, "%d %d %d %s %t %g %d %d %+v %d %q %#v", s.EpsilonPico, s.LeftPico, s.DeltaAtto, s.Mechanism, s.Pure, s.Alpha, s.MaxRows, s.MaxPartitions,
		s.Target, s.TypicalPico, s.Mechanisms, s.Unindexed)
	if s.MaxSum != nil {
		key = append(append(key, ' '), s.MaxSum.RatString()...)
	}
	for _, v := range values {
		key = fmt.Appendf(key, "\x00%d %t %t %d ", v.OID, v.Binary, v.Bytes == nil, len(v.Bytes))
		key = append(key, v.Bytes...)
	}
	return string(key)
}

// cache keeps the analysis of recent texts, the least recently used one going
// first.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *entry, most recent first
	bytes   int
}

type entry struct {
	sql   string
	texts []*text
}

func newCache() *cache { return &cache{entries: map[string]*list.Element{}, order: list.New()} }

// get returns the statements of a text, parsing it if it is not remembered.
// Refused texts are not remembered.
func (c *cache) get(sql string, parse func() (*parser.Script, error)) ([]*text, error) {
	if texts := c.find(sql); texts != nil {
		return texts, nil
	}
	script, err := parse()
	if err != nil {
		return nil, err
	}
	texts := make([]*text, 0, len(script.Statements))
	for _, s := range script.Statements {
		texts = append(texts, &text{stmt: s})
	}
	c.add(sql, texts)
	return texts, nil
}

func (c *cache) find(sql string) []*text {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[sql]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).texts
}

func (c *cache) add(sql string, texts []*text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[sql] != nil {
		return
	}
	c.entries[sql] = c.order.PushFront(&entry{sql, texts})
	c.bytes += len(sql)
	for c.order.Len() > cachedTexts || c.bytes > cachedBytes && c.order.Len() > 1 {
		last := c.order.Remove(c.order.Back()).(*entry)
		delete(c.entries, last.sql)
		c.bytes -= len(last.sql)
	}
}
