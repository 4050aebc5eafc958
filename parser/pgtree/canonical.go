package pgtree

import (
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v5"
	pgraw "github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"dpproxy/parser/lex"
)

// Two trees are compared by their canonical bytes: the wire form of the parser's
// own messages without locations. A nested message ends with a zero byte
// instead of beginning with its length, since its length depends on the locations.

// A shape says how to read the wire form of one message.
type shape struct {
	fields []field // by number
}

type field struct {
	location bool
	message  *shape // nil for a field that is no message
}

// shapes derives the shapes from the descriptors, once.
var shapes = sync.OnceValue(func() map[protoreflect.FullName]*shape {
	known := map[protoreflect.FullName]*shape{}
	addShape(known, (&pg.ParseResult{}).ProtoReflect().Descriptor())
	return known
})

func addShape(known map[protoreflect.FullName]*shape, d protoreflect.MessageDescriptor) *shape {
	if s := known[d.FullName()]; s != nil {
		return s
	}
	s := &shape{}
	known[d.FullName()] = s
	fields := d.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		for len(s.fields) <= int(f.Number()) {
			s.fields = append(s.fields, field{})
		}
		entry := &s.fields[f.Number()]
		entry.location = strings.HasSuffix(string(f.Name()), "location") || f.Name() == "stmt_len"
		if f.Message() != nil {
			entry.message = addShape(known, f.Message())
		}
	}
	return s
}

// A canonicalizer collects canonical bytes and the smallest and largest location met.
type canonicalizer struct {
	out      []byte
	min, max int
}

func (c *canonicalizer) message(wire []byte, s *shape) {
	for len(wire) > 0 {
		number, kind, n := protowire.ConsumeTag(wire)
		if n < 0 {
			return
		}
		tag := wire[:n]
		wire = wire[n:]
		n = protowire.ConsumeFieldValue(number, kind, wire)
		if n < 0 {
			return
		}
		value := wire[:n]
		wire = wire[n:]
		var f field
		if int(number) < len(s.fields) {
			f = s.fields[number]
		}
		switch {
		case f.location:
			c.location(value)
		case f.message != nil:
			c.out = append(c.out, tag...)
			body, _ := protowire.ConsumeBytes(value)
			c.message(body, f.message)
			c.out = append(c.out, 0)
		default:
			c.out = append(c.out, tag...)
			c.out = append(c.out, value...)
		}
	}
}

func (c *canonicalizer) location(value []byte) {
	v, _ := protowire.ConsumeVarint(value)
	at := int(int32(v))
	if at < 0 {
		return
	}
	if c.min < 0 || at < c.min {
		c.min = at
	}
	c.max = max(c.max, at)
}

// Canonical returns the canonical bytes of the tree and its smallest and
// largest location, -1 if it has none.
func Canonical(m proto.Message) (key []byte, first, last int) {
	wire, err := proto.Marshal(m)
	if err != nil {
		return nil, -1, -1
	}
	c := &canonicalizer{out: make([]byte, 0, len(wire)), min: -1, max: -1}
	c.message(wire, shapes()[m.ProtoReflect().Descriptor().FullName()])
	return c.out, c.min, c.max
}

// FirstLocation is the smallest location in a tree that has none of its own, -1 if there is none.
func FirstLocation(n *pg.Node) int32 {
	_, first, _ := Canonical(n)
	return int32(first)
}

// CanonicalText parses the text and returns the canonical bytes of its only
// statement; ok is false if the text does not parse or is not one statement.
func CanonicalText(sql string) (key []byte, ok bool) {
	wire, err := pgraw.ParseToProtobuf(lex.Uncommented(sql))
	if err != nil {
		return nil, false
	}
	var statement []byte
	found := 0
	for len(wire) > 0 {
		number, kind, n := protowire.ConsumeTag(wire)
		if n < 0 {
			return nil, false
		}
		wire = wire[n:]
		n = protowire.ConsumeFieldValue(number, kind, wire)
		if n < 0 {
			return nil, false
		}
		if number == 2 { // ParseResult.stmts
			statement, _ = protowire.ConsumeBytes(wire[:n])
			found++
		}
		wire = wire[n:]
	}
	if found != 1 {
		return nil, false
	}
	c := &canonicalizer{out: make([]byte, 0, len(statement)), min: -1, max: -1}
	c.message(statement, shapes()["pg_query.RawStmt"])
	return c.out, true
}
