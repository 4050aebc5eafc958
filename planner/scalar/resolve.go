package scalar

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/work"
)

// A Resolver gives the parser's expressions their meaning. Its errors are *pgerr.Error, with positions in the statement.
type Resolver struct {
	Constants *Constants
	// Concealed says that no analyst may see the expressions.
	Concealed bool
	// Params are the types of $1, $2, ...
	Params []uint32
	// Work counts the expressions that are resolved.
	Work *work.Meter
	// Column resolves a reference. Its error refuses the name.
	Column func(*ast.Column) (*Column, error)
	// Field, if not nil, notes that a field of a column is used, nil if the policy declares none of its keys. Its error refuses it.
	Field func(of, field *Column, at int) error
	// Computed, if not nil, returns the expression for which a reference stands, or nil if it is a column.
	Computed func(*ast.Column) (Expr, error)
	// Condition resolves conditions that contain a query (InQuery, Exists); nil refuses them.
	Condition func(ast.Expr) (Expr, error)
	// Unit is set if rows are grouped by their privacy unit. Then aggregates over the rows of a unit are allowed, and columns that are
	// neither grouped nor aggregated are refused.
	Unit *UnitGroup
	// Own is set if window functions over the rows of a unit are allowed.
	Own *OwnRows
}

// resolution resolves an expression.
type resolution struct {
	*Resolver
	*builder
}

func (r *Resolver) resolution() *resolution {
	return &resolution{r, &builder{r.Constants, r.Concealed}}
}

// Expr resolves an expression of any type.
func (r *Resolver) Expr(e ast.Expr) (Expr, error) {
	at := r.resolution()
	return at.rowExpr(at.resolve(e))
}

// Literal resolves an untyped constant as a constant of a type.
func (r *Resolver) Literal(e ast.Expr, t pgtype.Type) (Expr, error) {
	at := r.resolution()
	x, err := at.resolve(e)
	if err == nil {
		x, err = at.coerce(x, t)
	}
	if err != nil {
		return nil, err
	}
	return at.fold(x)
}

// Boolean resolves a condition, and refuses an expression of another type.
func (r *Resolver) Boolean(e ast.Expr) (Expr, error) {
	at := r.resolution()
	return at.rowExpr(at.condition(at.resolve(e)))
}

// rowExpr finishes an expression that is evaluated for each row.
func (r *resolution) rowExpr(x Expr, err error) (Expr, error) {
	if err != nil {
		return nil, err
	}
	if x, err = r.fold(x); err != nil {
		return nil, err
	}
	return x, r.grouped(x)
}

// resolveAll resolves a list.
func (r *resolution) resolveAll(list ...ast.Expr) ([]Expr, error) {
	out := make([]Expr, len(list))
	for i, e := range list {
		x, err := r.resolve(e)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

func (r *resolution) resolve(e ast.Expr) (Expr, error) {
	if err := r.Work.Spend(perExpression); err != nil {
		return nil, err
	}
	x, err := r.meaning(e)
	if err != nil {
		return nil, err
	}
	return bound(r.constants, x), nil
}

// perExpression is how many steps an expression takes that is resolved, bounded or written, without those below it.
const perExpression = 20

// meaning resolves an expression without the bounds that the policy declares for it.
func (r *resolution) meaning(e ast.Expr) (Expr, error) {
	switch e := e.(type) {
	case nil:
		return nil, pgerr.New(pgerr.Internal, "an expression with a gap")
	case *ast.Column:
		if r.Computed != nil {
			if x, err := r.Computed(e); x != nil || err != nil {
				return x, err
			}
		}
		c, err := r.Column(e)
		if err != nil {
			return nil, err
		}
		return &Ref{c, e.At}, nil
	case *ast.Const:
		return literal(e), nil
	case *ast.Param:
		return r.param(e)
	case *ast.ValueFunc:
		return valueFunction(e)
	case *ast.Subquery:
		return &term{node: node{pgtype.Of(pgtype.Unknown), e.At, true}, sql: e.Text, bare: true}, nil
	case *ast.Cast:
		return r.explicit(e)
	case *ast.Op:
		return r.operator(e)
	case *ast.Func:
		return r.function(e)
	case *ast.Case:
		return r.caseOf(e)
	case *ast.Array:
		return r.array(e)
	case *ast.InQuery, *ast.Exists:
		return r.query(e)
	case *ast.ValueQuery:
		return nil, e.Refusal
	case *ast.Quantified:
		return nil, e.Refusal
	case *ast.Aggregate:
		return r.aggregate(e)
	case *ast.Window:
		return r.window(e)
	case *ast.Searched:
		return r.searched(e)
	case *ast.Field:
		return fieldAsText(r, e)
	case *ast.Bool, *ast.In, *ast.Between, *ast.IsNull, *ast.BoolTest, *ast.Distinct, *ast.AnyOf:
		return r.syntax(e)
	}
	return nil, notAllowed("this expression", e.Pos())
}

func (r *resolution) query(e ast.Expr) (Expr, error) {
	if r.Condition == nil {
		return nil, notAllowed("a sub-select here", e.Pos())
	}
	return r.Condition(e)
}

func (r *resolution) function(e *ast.Func) (Expr, error) {
	args, err := r.resolveAll(e.Args...)
	if err != nil {
		return nil, err
	}
	switch e.Name {
	case "coalesce", "greatest", "least":
		return r.choice(choiceKind(strings.ToUpper(e.Name)), args, e.At)
	case "nullif":
		if len(args) != 2 {
			return nil, notAllowed("NULLIF of other than two values", e.At)
		}
		return r.nullIf(args, e.At)
	case "concat":
		return r.concat(args, e.At)
	case "cardinality", "array_length":
		return r.arrayLength(e, args)
	case "age":
		if len(args) == 1 {
			args = sinceToday(args, e.At)
		}
	}
	candidates := functions[e.Name]
	if candidates == nil && len(args) == 1 && slices.Contains(castFunctions, e.Name) {
		return r.convert(args[0], ast.TypeName{Schema: "pg_catalog", Name: e.Name}, e.At)
	}
	if candidates == nil {
		return nil, pgerr.New(pgerr.NotAllowed, "the function %s() is not allowed on protected data", e.Name).At(e.At).
			WithHint("Apply it to the result of the aggregate, or compute the value first and write it as a constant.")
	}
	fn, ok := pgtype.Pick(candidates, oids(args))
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "no function %s%s is allowed on protected data", e.Name, signature(args)).At(e.At).
			WithHint("Cast the arguments to the types that the function takes.")
	}
	x, err := r.apply(fn, args, e.At)
	if c, ok := x.(*call); ok && e.Name == "extract" {
		field, known := e.Args[0].(*ast.Const)
		c.whole = known && field.Kind == ast.String && slices.Contains(wholeFields, field.Text)
	}
	return x, err
}

// arrayLength resolves cardinality and array_length.
func (r *resolution) arrayLength(e *ast.Func, args []Expr) (Expr, error) {
	takes := 1
	if e.Name == "array_length" {
		takes = 2
	}
	if len(args) != takes {
		return nil, notAllowed("the function "+e.Name+signature(args), e.At)
	}
	if _, err := arrayOf(args[0]); err != nil {
		return nil, err
	}
	if takes > 1 {
		if !args[1].free() {
			return nil, notAllowed("array_length() of a dimension that is no constant", args[1].Pos())
		}
		var err error
		if args[1], err = r.coerce(args[1], pgtype.Of(pgtype.Int4)); err != nil {
			return nil, err
		}
	}
	return r.call(&function{name: e.Name, over: elementCount, strict: takes}, pgtype.Of(pgtype.Int4), e.At, args...)
}
