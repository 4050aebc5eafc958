package survey

import (
	"math"
	"slices"
	"strconv"

	"dpproxy/accountant/realized"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A resolution turns a question into an expression whose losses can be bounded. It computes with real numbers: an
// operation that Postgres would round, or refuse for some values, is refused here.
type resolution struct {
	all []Column
	// used are the columns that the question mentions, in the order in which it does.
	used columns
	// place is where a column stands in the domain of the expression; nil: in used.
	place func(name string) int
}

// An operand is a resolved part of a question.
type operand struct {
	expr realized.Expr
	// plain says that it is a column and nothing else, category that its values are no numbers, logistic that it is 1/(1+exp(x)).
	plain, category, logistic bool
	// whole says that Postgres would compute with integers.
	whole bool
	// constant is the number that it is, if it mentions no column.
	constant *float64
	// exponent is x, where it is exp(x) or 1+exp(x).
	exponent *realized.Expr
	sum      bool // it is 1+exp(x)
}

const questionHint = "A question is a column with values, or a number: + - * / ^, exp, ln, sqrt, abs, power, least and greatest of " +
	"columns with bounds."

// term resolves an expression.
func (r *resolution) term(e ast.Expr) (operand, *pgerr.Error) {
	switch e := e.(type) { //nolint:gochecksumtype // any other is refused
	case *ast.Column:
		return r.column(e)
	case *ast.Const:
		return r.literal(e)
	case *ast.Cast:
		return r.cast(e)
	case *ast.Op:
		return r.operation(e)
	case *ast.Func:
		return r.function(e)
	}
	if e == nil {
		return operand{}, pgerr.New(pgerr.Internal, "a question with a gap")
	}
	return operand{}, notAsked("this expression", e.Pos())
}

func notAsked(what string, at int) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "%s cannot be asked about in a survey", what).At(at).WithHint("%s", questionHint)
}

func (r *resolution) column(e *ast.Column) (operand, *pgerr.Error) {
	i := columns(r.all).index(e.Name)
	if e.Qualifier != "" {
		return operand{}, pgerr.New(pgerr.NotAllowed, "a question is about one table, and its columns have no other name before them").
			At(e.At).WithHint("Write %s.", e.Name)
	}
	if i < 0 {
		return operand{}, pgerr.New(pgerr.NotAllowed, "no private column %q can be asked about", e.Name).At(e.At).
			WithHint("These can be asked about: %s. Public columns are in the table as they are.", names(r.all))
	}
	c := r.all[i]
	if r.used.index(c.Name) < 0 {
		r.used = append(r.used, c)
	}
	at := r.used.index(c.Name)
	if r.place != nil {
		at = r.place(c.Name)
	}
	return operand{
		expr: realized.ColumnOf(at), plain: true, category: c.category() && c.numbers() == nil, whole: c.Whole,
	}, nil
}

func (r *resolution) literal(e *ast.Const) (operand, *pgerr.Error) {
	if e.Kind != ast.Integer && e.Kind != ast.Number {
		return operand{}, notAsked("this constant", e.At)
	}
	return number64(e.Text, e.Kind == ast.Integer, e.At)
}

func number64(text string, whole bool, at int) (operand, *pgerr.Error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(x) > maxConstant {
		return operand{}, pgerr.New(pgerr.NotAllowed, "the constant %s is too large", text).At(at).WithHint("Use one up to 1e100.")
	}
	return operand{expr: realized.Constant(x), constant: &x, whole: whole}, nil
}

// maxConstant keeps products of constants finite.
const maxConstant = 1e100

// cast takes conversions that change no number.
func (r *resolution) cast(e *ast.Cast) (operand, *pgerr.Error) {
	exact := slices.Contains([]string{"float8", "numeric"}, e.Type.Name) && len(e.Type.Mods) == 0 && !e.Type.Array
	if !exact || e.Type.Schema != "" && e.Type.Schema != "pg_catalog" {
		return operand{}, notAsked("a conversion to this type", e.At)
	}
	if c, ok := e.X.(*ast.Const); ok && c.Kind == ast.String {
		return number64(c.Text, false, e.At)
	}
	x, refusal := r.number(e.X)
	x.whole, x.plain = false, false
	return x, refusal
}

// number resolves an expression that has a number.
func (r *resolution) number(e ast.Expr) (operand, *pgerr.Error) {
	x, refusal := r.term(e)
	if refusal == nil && x.category {
		refusal = pgerr.New(pgerr.NotAllowed, "the values of this column are no numbers").At(e.Pos()).
			WithHint("Ask about it by its name alone.")
	}
	return x, refusal
}

func (r *resolution) operation(e *ast.Op) (operand, *pgerr.Error) {
	right, refusal := r.number(e.Right)
	if refusal != nil {
		return operand{}, refusal
	}
	if e.Left == nil {
		return signed(e, right)
	}
	left, refusal := r.number(e.Left)
	if refusal != nil {
		return operand{}, refusal
	}
	out := operand{whole: left.whole && right.whole}
	switch e.Name {
	case "+":
		out.expr = realized.Add(left.expr, right.expr)
		out.exponent, out.sum = onePlus(left, right), true
	case "-":
		out.expr = realized.Sub(left.expr, right.expr)
	case "*":
		out.expr = realized.Mul(left.expr, right.expr)
	case "/":
		if out.whole {
			return operand{}, pgerr.New(pgerr.NotAllowed, "integers are divided without a rest in Postgres, which cannot be asked about").
				At(e.At).
				WithHint("Cast one of them, as in x::numeric / y, or write a number with a point.")
		}
		if left.is(1) && right.sum && right.exponent != nil {
			return operand{expr: realized.Logistic(realized.Neg(*right.exponent)), logistic: true}, nil
		}
		out.expr = realized.Div(left.expr, right.expr)
	case "^":
		return powerOf(left, right, e.At)
	default:
		return operand{}, notAsked("the operator "+e.Name, e.At)
	}
	out.constant = combined(e.Name, left.constant, right.constant)
	return out, nil
}

// is reports whether the operand is a constant.
func (o operand) is(x float64) bool { return o.constant != nil && *o.constant == x }

// onePlus returns x of 1 + exp(x).
func onePlus(a, b operand) *realized.Expr {
	switch {
	case a.is(1) && b.exponent != nil && !b.sum:
		return b.exponent
	case b.is(1) && a.exponent != nil && !a.sum:
		return a.exponent
	}
	return nil
}

// combined computes a constant from two.
func combined(operator string, a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	var x float64
	switch operator {
	case "+":
		x = *a + *b
	case "-":
		x = *a - *b
	case "*":
		x = *a * *b
	case "/":
		x = *a / *b
	}
	return &x
}

// signed resolves a sign.
func signed(e *ast.Op, x operand) (operand, *pgerr.Error) {
	switch e.Name {
	case "+":
		x.plain = false
		return x, nil
	case "-":
		out := operand{expr: realized.Neg(x.expr), whole: x.whole}
		if x.constant != nil {
			minus := -*x.constant
			out.constant = &minus
		}
		return out, nil
	}
	return operand{}, notAsked("the operator "+e.Name, e.At)
}

// maxPower is the largest exponent of a power.
const maxPower = 16

// powerOf resolves a power with a small whole exponent.
func powerOf(x, n operand, at int) (operand, *pgerr.Error) {
	if n.constant == nil || *n.constant != math.Trunc(*n.constant) || *n.constant < 1 || *n.constant > maxPower {
		return operand{}, pgerr.New(pgerr.NotAllowed, "a power that can be asked about has a whole exponent from 1 to %d", maxPower).At(at).
			WithHint("Write exp(0.5 * ln(x)) or sqrt(x) for others.")
	}
	return operand{expr: realized.Power(x.expr, int(*n.constant))}, nil
}

func (r *resolution) function(e *ast.Func) (operand, *pgerr.Error) {
	var args []operand
	for _, a := range e.Args {
		x, refusal := r.number(a)
		if refusal != nil {
			return operand{}, refusal
		}
		args = append(args, x)
	}
	one := map[string]func(realized.Expr) realized.Expr{
		"exp": realized.Exp, "ln": realized.Ln, "sqrt": realized.Sqrt, "abs": realized.Abs,
	}
	of, isOne := one[e.Name]
	switch {
	case isOne && len(args) == 1:
		out := operand{expr: of(args[0].expr), whole: e.Name == "abs" && args[0].whole}
		if e.Name == "exp" {
			out.exponent = &args[0].expr
		}
		return out, nil
	case (e.Name == "power" || e.Name == "pow") && len(args) == 2:
		return powerOf(args[0], args[1], e.At)
	case (e.Name == "least" || e.Name == "greatest") && len(args) > 0:
		out := operand{expr: args[0].expr, whole: args[0].whole}
		for _, a := range args[1:] {
			out.whole = out.whole && a.whole
			if e.Name == "least" {
				out.expr = realized.Least(out.expr, a.expr)
			} else {
				out.expr = realized.Greatest(out.expr, a.expr)
			}
		}
		return out, nil
	}
	return operand{}, notAsked("the function "+e.Name+"()", e.At)
}
