package scalar

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// A point is a value in the order in which Postgres compares the values of a type. Texts and labels are compared for equality alone: their
// order here is that of their bytes.
type point struct {
	class  class
	number *big.Rat // of a finite number, date or time
	text   string   // of a text, a label, or a uuid
}

// A class orders the values that are no finite numbers.
type class int8

const (
	beforeAll class = -2 + iota // no value: where the order begins
	minusInfinity
	finite
	plusInfinity
	notANumber
	behindAll // no value: where the order ends
)

func (p point) compare(o point) int {
	if p.class != o.class || p.class != finite {
		return cmp.Compare(p.class, o.class)
	}
	if p.number != nil && o.number != nil {
		return p.number.Cmp(o.number)
	}
	return strings.Compare(p.text, o.text)
}

// String writes the value: equal values alike.
func (p point) String() string {
	switch {
	case p.class != finite:
		return "(" + strconv.Itoa(int(p.class)) + ")"
	case p.number != nil:
		return p.number.RatString()
	}
	return strconv.Quote(p.text)
}

// An edge divides the values of a type: those before a point from the others, or, if after is true, those up to the point.
type edge struct {
	at    point
	after bool
}

func (c edge) compare(o edge) int {
	if n := c.at.compare(o.at); n != 0 || c.after == o.after {
		return n
	}
	if c.after {
		return 1
	}
	return -1
}

// A region is a set of values of a type. It changes at its edges, which are in order.
type region struct {
	begins bool // it has the values before the first edge
	edges  []edge
	null   bool // it has NULL
}

// everything has all values and NULL.
var everything = region{begins: true, null: true}

// comparedWith returns the values x for which x op p is true.
func comparedWith(op string, p point) region {
	before, after := edge{at: p}, edge{at: p, after: true}
	switch op {
	case "<":
		return region{begins: true, edges: []edge{before}}
	case "<=":
		return region{begins: true, edges: []edge{after}}
	case ">":
		return region{edges: []edge{after}}
	case ">=":
		return region{edges: []edge{before}}
	case "<>":
		return region{begins: true, edges: []edge{before, after}}
	}
	return region{edges: []edge{before, after}}
}

// merged returns the values v for which op is true of whether v is in a and whether it is in b.
func merged(a, b region, op func(inA, inB bool) bool) region {
	inA, inB := a.begins, b.begins
	out := region{begins: op(inA, inB), null: op(a.null, b.null)}
	in := out.begins
	for i, j := 0, 0; i < len(a.edges) || j < len(b.edges); {
		order := 0
		switch {
		case i == len(a.edges):
			order = 1
		case j == len(b.edges):
			order = -1
		default:
			order = a.edges[i].compare(b.edges[j])
		}
		var at edge
		if order <= 0 {
			at, inA = a.edges[i], !inA
			i++
		}
		if order >= 0 {
			at, inB = b.edges[j], !inB
			j++
		}
		if now := op(inA, inB); now != in {
			out.edges, in = append(out.edges, at), now
		}
	}
	return out
}

func (r region) and(o region) region { return merged(r, o, func(a, b bool) bool { return a && b }) }

func (r region) or(o region) region { return merged(r, o, func(a, b bool) bool { return a || b }) }

// others returns all values that the region lacks, and NULL if it lacks NULL.
func (r region) others() region { return merged(r, r, func(a, _ bool) bool { return !a }) }

func (r region) empty() bool { return !r.begins && len(r.edges) == 0 && !r.null }

func (r region) equal(o region) bool {
	return merged(r, o, func(a, b bool) bool { return a != b }).empty()
}

// has reports whether a value is in the region.
func (r region) has(p point) bool {
	in := r.begins
	for _, c := range r.edges {
		if c.compare(edge{at: p}) <= 0 {
			in = !in
		}
	}
	return in
}

// moved moves the edges by a function that keeps their order. Cuts that meet go, and so do edges at the ends of the order.
func (r region) moved(f func(edge) edge) region {
	out := region{begins: r.begins, null: r.null}
	for _, c := range r.edges {
		c = f(c)
		switch n := len(out.edges); {
		case c.at.class == beforeAll:
			out.begins = !out.begins
		case c.at.class == behindAll:
			return out
		case n > 0 && out.edges[n-1].compare(c) == 0:
			out.edges = out.edges[:n-1]
		default:
			out.edges = append(out.edges, c)
		}
	}
	return out
}

// before returns the values that are in the region after they are moved into [low, high].
func (r region) before(low, high point) region {
	out := region{begins: r.has(low), null: r.null}
	for _, c := range r.edges {
		if c.compare(edge{at: low}) > 0 && c.compare(edge{at: high, after: true}) < 0 {
			out.edges = append(out.edges, c)
		}
	}
	return out
}

// String writes the region: equal regions alike, and different ones differently.
func (r region) String() string {
	var b strings.Builder
	if r.null {
		b.WriteString("NULL ")
	}
	if r.begins {
		b.WriteString("*")
	}
	for _, c := range r.edges {
		side := "<"
		if c.after {
			side = ">"
		}
		b.WriteString(side + c.at.String() + " ")
	}
	return b.String()
}
