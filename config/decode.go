package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A value is a node of the file with its path.
type value struct {
	d    *decoder
	node ast.Node
	path []string
	pos  position
}

// A decoder collects faults while it walks the file.
type decoder struct {
	src          *source
	faults       []*Error
	passwordless []value // analysts without a password
}

// fail records a fault at the value.
func (v value) fail(format string, args ...any) {
	v.d.faults = append(v.d.faults, v.d.src.fault(v.pos, label(v.path, fmt.Sprintf(format, args...))))
}

// placed is the value at another place, such as that of its key.
func (v value) placed(p position) value {
	v.pos = p
	return v
}

// need fails for each key that a mapping lacks.
func (v value) need(keys ...string) {
	m, ok := v.node.(ast.MapNode)
	if !ok {
		return // a fault already
	}
	for _, key := range keys {
		if !states(m, key) {
			v.fail("%s is missing", key)
		}
	}
}

// states reports whether a mapping has a key.
func states(m ast.MapNode, key string) bool {
	for it := m.MapRange(); it.Next(); {
		if name, _ := scalarText(it.Key()); name == key {
			return true
		}
	}
	return false
}

// child makes the value of a key or an element; scalars point at themselves, others
// at their key.
func (v value) child(name string, key position, node ast.Node) value {
	c := value{v.d, node, slices.Concat(v.path, []string{name}), key}
	if scalar, ok := node.(ast.ScalarNode); ok && kind(node) != "nothing" {
		c.pos = positionOf(scalar.GetToken())
	}
	v.d.src.places[placeKey(c.path)] = c.pos
	switch n := node.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle {
			v.d.src.braces[placeKey(c.path)] = braces{positionOf(n.Start), positionOf(n.End)}
		}
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			v.d.src.braces[placeKey(c.path)] = braces{positionOf(n.Start), positionOf(n.End)}
		}
	}
	return c
}

// entries reads a mapping with any keys. The parser has refused equal ones.
func (v value) entries(each func(name string, c value, key position)) {
	m, ok := v.node.(ast.MapNode)
	if !ok {
		v.fail("a mapping is needed, not %s", kind(v.node))
		return
	}
	for it := m.MapRange(); it.Next(); {
		pair := it.KeyValue()
		place := positionOf(pair.Key.GetToken())
		name, ok := scalarText(pair.Key)
		if !ok || name == "" {
			v.placed(place).fail("a key must be plain text")
			continue
		}
		each(name, v.child(name, place, pair.Value), place)
	}
}

// list reads a sequence.
func (v value) list(each func(value)) {
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.fail("a list is needed, not %s", kind(v.node))
		return
	}
	for i, n := range s.Values {
		each(v.child(strconv.Itoa(i), v.pos, n))
	}
}

// text reads a scalar as it is written; a number keeps its digits.
func (v value) text() string { return v.textWithout(unicode.IsControl) }

// sql reads text that may have several lines.
func (v value) sql() string {
	return v.textWithout(func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

func (v value) textWithout(refused func(rune) bool) string {
	s, ok := scalarText(v.node)
	switch {
	case !ok:
		v.fail("text is needed, not %s", kind(v.node))
	case strings.ContainsFunc(s, refused):
		v.fail("a control character cannot be used")
	case s == "":
		v.fail("is empty")
	}
	return s
}

func (v value) bool() bool {
	b, ok := v.node.(*ast.BoolNode)
	if !ok {
		v.fail("true or false is needed, not %s", kind(v.node))
		return false
	}
	return b.Value
}

// count reads a whole number from one to limit.
func (v value) count(limit int64) int64 {
	if c, ok := v.whole(limit); ok {
		return c
	}
	v.fail("a whole number from 1 to %d is needed", limit)
	return 1
}

// countOrNone is a whole number, 0 too.
func (v value) countOrNone(limit int) int {
	if n, ok := v.node.(*ast.IntegerNode); ok && n.Token.Value == "0" {
		return 0
	}
	c, ok := v.whole(int64(limit))
	if !ok {
		v.fail("a whole number from 0 to %d is needed", limit)
	}
	return int(c)
}

// whole returns a whole number from one to limit.
func (v value) whole(limit int64) (c int64, ok bool) {
	n, ok := v.node.(*ast.IntegerNode)
	if !ok || n.Token.Value[0] == '0' {
		return 0, false
	}
	c, err := strconv.ParseInt(n.Token.Value, 10, 64)
	return c, err == nil && c >= 1 && c <= limit
}

// duration reads a time such as 30s, which Postgres takes in milliseconds.
func (v value) duration() time.Duration {
	s, _ := scalarText(v.node)
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Millisecond || d > 24*time.Hour {
		v.fail("a time from 1ms to 24h is needed, such as 30s")
	}
	return d
}

// oneOf reads one of the given words.
func (v value) oneOf(words ...string) string {
	s, _ := scalarText(v.node)
	if !slices.Contains(words, s) {
		v.fail("one of %s is needed", strings.Join(words, ", "))
	}
	return s
}

// scalarText returns the text of strings, numbers and booleans.
func scalarText(n any) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode:
		return n.Token.Value, true
	case *ast.FloatNode:
		return n.Token.Value, true
	case *ast.BoolNode:
		return n.Token.Value, true
	}
	return "", false
}

func kind(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.InfinityNode, *ast.NanNode:
		return "a number that is not finite"
	case *ast.BoolNode:
		return "true or false"
	}
	return "an anchor, alias or tag"
}

// parse returns the root of the only document.
func (d *decoder) parse(src []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, d.syntax(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, d.src.fault(position{1, 1}, "a policy is one YAML document")
	}
	return file.Docs[0].Body, nil
}

// syntax turns an error of the parser into ours: the parser's own excerpt, which
// has the lines around the fault, may show secrets.
func (d *decoder) syntax(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return d.src.fault(position{1, 1}, "this is not YAML")
	}
	place := positionOf(e.GetToken())
	if d.src.secretNear(place.line) {
		fault := d.src.fault(place, quotedText.ReplaceAllString(e.GetMessage(), `"..."`))
		fault.excerpt = withheld
		return fault
	}
	return d.src.show(d.src.fault(place, e.GetMessage()))
}

// conceal marks all lines of the value's text, wherever it goes on.
func (v value) conceal() {
	n := v.node
	if literal, ok := n.(*ast.LiteralNode); ok {
		n = literal.Value
	}
	var t *token.Token
	if n != nil {
		t = n.GetToken()
	}
	if t == nil || t.Position == nil {
		return
	}
	first := min(v.pos.line, t.Position.Line)
	last := max(v.pos.line, t.Position.Line) + strings.Count(strings.TrimSpace(t.Origin), "\n")
	for i := max(first-1, 0); i < min(last, len(v.d.src.secret)); i++ {
		v.d.src.secret[i] = true
	}
}
