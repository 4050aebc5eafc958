package proxy

import (
	"container/list"
	"encoding/binary"
	"sync"

	"dpproxy/parser"
	"dpproxy/planner"
)

const (
	cachedTexts     = 1000
	cachedBytes     = 8 << 20 // of texts
	cachedTemplates = 4       // type combinations of one statement's constants
)

// text is one statement of a client's text with what was found out about it: all
// of that depends on the text and the policy alone.
type text struct {
	stmt *parser.Statement

	mu        sync.Mutex
	analysed  bool
	query     *planner.Query
	err       error
	templates map[string]*planner.Template
}

// analyse resolves the statement, once.
func (t *text) analyse(cat *planner.Catalog) (*planner.Query, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.analysed {
		t.query, t.err = planner.Analyze(cat, t.stmt)
		t.analysed = true
	}
	return t.query, t.err
}

// template compiles the statement for the types of its constants.
func (t *text) template(q *planner.Query, oids []uint32) (*planner.Template, error) {
	key := make([]byte, 0, 4*len(oids))
	for _, oid := range oids {
		key = binary.BigEndian.AppendUint32(key, oid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tm := t.templates[string(key)]; tm != nil {
		return tm, nil
	}
	tm, err := q.Compile(oids)
	if err != nil {
		return nil, err
	}
	if len(t.templates) >= cachedTemplates || t.templates == nil {
		t.templates = map[string]*planner.Template{}
	}
	t.templates[string(key)] = tm
	return tm, nil
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
