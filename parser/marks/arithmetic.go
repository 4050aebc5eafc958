package marks

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// arithmetic is the mark of a sum, a difference, or a product or quotient with a constant, through which it is known which way noise moves
// the value. ok is false for other operators.
func (l *level) arithmetic(x *pg.A_Expr) (m Mark, ok bool) {
	names, plain := pgtree.Strings(x.Name)
	if x.Kind != pg.A_Expr_Kind_AEXPR_OP || !plain || x.Rexpr == nil {
		return Label, false
	}
	right := l.expr(x.Rexpr).shown()
	if x.Lexpr == nil {
		return right.times(map[string]int{"+": 1, "-": -1}[names[len(names)-1]]), true
	}
	left := l.expr(x.Lexpr).shown()
	switch names[len(names)-1] {
	case "+":
		return left.plus(right), true
	case "-":
		return left.plus(right.times(-1)), true
	case "*":
		if right == Label {
			return left.times(sign(x.Rexpr)), true
		}
		return left.computed().plus(right.times(sign(x.Lexpr))), true
	case "/":
		return left.times(sign(x.Rexpr)).plus(right.computed()), true
	}
	return Label, false
}

// plus is the mark of a sum of two values.
func (m Mark) plus(other Mark) Mark {
	if m > Noisy && other > Noisy && m != other {
		return max(m, other, Mixed)
	}
	return max(m, other)
}

// times is the mark of the product of a value with a constant of a sign, 0 where the sign is not known.
func (m Mark) times(sign int) Mark {
	switch {
	case sign > 0 || m <= Noisy:
		return m
	case sign < 0 && m == Most:
		return Least
	case sign < 0 && m == Least:
		return Most
	}
	return max(m, Mixed)
}

// sign is that of a numeric constant, 0 for other expressions.
func sign(n *pg.Node) int {
	if x := n.GetAExpr(); x != nil && x.Lexpr == nil {
		if names, _ := pgtree.Strings(x.Name); len(names) == 1 && names[0] == "-" {
			return -sign(x.Rexpr)
		}
	}
	switch c := n.GetAConst(); {
	case c.GetIval().GetIval() > 0 || strings.Trim(c.GetFval().GetFval(), "0.eE") != "" && c.GetFval().GetFval()[0] != '-':
		return 1
	case c.GetIval().GetIval() < 0 || strings.HasPrefix(c.GetFval().GetFval(), "-"):
		return -1
	}
	return 0
}

// rounds are functions of Postgres that are larger for a larger first argument, or the same.
var rounds = map[string]bool{"round": true, "ceil": true, "ceiling": true, "floor": true, "trunc": true}

// rising is the mark of an expression that rises with its first operand, if the others have no noise.
func (l *level) rising(operands []*pg.Node) Mark {
	first, rest := l.expr(operands[0]).shown(), l.exprs(operands[1:])
	if rest > Label {
		first = first.computed()
	}
	return max(first, rest)
}
