package realized

import (
	"math"
	"slices"
)

// An Expr is a score: a number that is computed from the columns of a domain. The zero Expr is none.
type Expr struct{ node *node }

// op is the operation of a node.
type op int

const (
	affine op = iota // the number plus the weighted columns
	product
	quotient
	sum
	exponential
	logarithm
	squareRoot
	absolute
	integerPower
	smaller
	larger
	sigmoid
)

type node struct {
	op      op
	a, b    *node
	power   int
	number  float64
	error   float64 // how far the number may be from the one that was meant
	weights []weight
}

// A weight is the factor of a column, and how far it may be from the one that was meant.
type weight struct {
	column    int
	by, error float64
}

// ColumnOf is a column of the domain.
func ColumnOf(column int) Expr {
	return Expr{&node{weights: []weight{{column: column, by: 1}}}}
}

// Constant is a number.
func Constant(c float64) Expr { return Expr{&node{number: c}} }

// Add is a + b. Sums of columns with constant factors are one step, whose bounds are exact.
func Add(a, b Expr) Expr {
	if a.linear() && b.linear() {
		return Expr{a.node.plus(b.node)}
	}
	return ofTwo(sum, a, b)
}

// Sub is a − b.
func Sub(a, b Expr) Expr { return Add(a, Neg(b)) }

// Neg is −a.
func Neg(a Expr) Expr { return Mul(Constant(-1), a) }

// Mul is a·b.
func Mul(a, b Expr) Expr {
	switch {
	case a.linear() && b.constant():
		return Expr{a.node.times(b.node.number, b.node.error)}
	case a.constant() && b.linear():
		return Mul(b, a)
	case a.node != nil && a.node == b.node:
		return Power(a, 2)
	}
	return ofTwo(product, a, b)
}

// Div is a/b.
func Div(a, b Expr) Expr {
	if a.linear() && b.constant() && b.node.error == 0 && b.node.number != 0 {
		if inverse := 1 / b.node.number; numbers(inverse) {
			return Expr{a.node.times(inverse, math.Abs(inverse)*ulps)}
		}
	}
	if a.isOne() {
		if z, ok := b.onePlusExp(); ok {
			return Logistic(Neg(z))
		}
	}
	return ofTwo(quotient, a, b)
}

// Exp is e to the power of a.
func Exp(a Expr) Expr { return ofOne(exponential, a) }

// Ln is the natural logarithm.
func Ln(a Expr) Expr { return ofOne(logarithm, a) }

// Sqrt is the square root.
func Sqrt(a Expr) Expr { return ofOne(squareRoot, a) }

// Abs is the absolute value.
func Abs(a Expr) Expr { return ofOne(absolute, a) }

// Power is a to the power of n ≥ 0.
func Power(a Expr, n int) Expr {
	e := ofOne(integerPower, a)
	if e.node != nil {
		e.node.power = n
	}
	return e
}

// Least is the smaller of a and b.
func Least(a, b Expr) Expr { return ofTwo(smaller, a, b) }

// Greatest is the larger of a and b.
func Greatest(a, b Expr) Expr { return ofTwo(larger, a, b) }

// Logistic is 1/(1 + exp(−a)), which Div recognises.
func Logistic(a Expr) Expr { return ofOne(sigmoid, a) }

func ofOne(o op, a Expr) Expr {
	if a.node == nil {
		return Expr{}
	}
	return Expr{&node{op: o, a: a.node}}
}

func ofTwo(o op, a, b Expr) Expr {
	if a.node == nil || b.node == nil {
		return Expr{}
	}
	return Expr{&node{op: o, a: a.node, b: b.node}}
}

func (e Expr) linear() bool { return e.node != nil && e.node.op == affine }

func (e Expr) constant() bool { return e.linear() && len(e.node.weights) == 0 }

func (e Expr) isOne() bool { return e.constant() && e.node.number == 1 && e.node.error == 0 }

// onePlusExp returns z of an expression 1 + exp(z).
func (e Expr) onePlusExp() (Expr, bool) {
	if e.node == nil || e.node.op != sum {
		return Expr{}, false
	}
	for _, pair := range [][2]*node{{e.node.a, e.node.b}, {e.node.b, e.node.a}} {
		if (Expr{pair[0]}).isOne() && pair[1].op == exponential {
			return Expr{pair[1].a}, true
		}
	}
	return Expr{}, false
}

// plus adds two affine nodes.
func (n *node) plus(m *node) *node {
	total := &node{number: n.number + m.number}
	total.error = n.error + m.error + math.Abs(total.number)*ulps
	total.weights = slices.Clone(n.weights)
	for _, w := range m.weights {
		at := slices.IndexFunc(total.weights, func(v weight) bool { return v.column == w.column })
		if at < 0 {
			total.weights = append(total.weights, w)
			continue
		}
		v := &total.weights[at]
		v.by += w.by
		v.error += w.error + math.Abs(v.by)*ulps
	}
	return total
}

// times multiplies an affine node by a number that may be off by the error given.
func (n *node) times(by, off float64) *node {
	scale := func(x, e float64) (float64, float64) {
		return x * by, e*(math.Abs(by)+off) + math.Abs(x)*off + math.Abs(x*by)*ulps
	}
	result := &node{weights: slices.Clone(n.weights)}
	result.number, result.error = scale(n.number, n.error)
	for i, w := range n.weights {
		result.weights[i].by, result.weights[i].error = scale(w.by, w.error)
	}
	return result
}

// columns adds the columns that n mentions.
func (n *node) columns(into map[int]bool) {
	if n == nil {
		return
	}
	for _, w := range n.weights {
		into[w.column] = true
	}
	n.a.columns(into)
	n.b.columns(into)
}
