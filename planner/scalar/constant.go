package scalar

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// literal types a literal as Postgres does.
func literal(c *ast.Const) Expr {
	t := pgtype.Of(pgtype.Unknown)
	switch c.Kind {
	case ast.Integer:
		t = pgtype.Of(pgtype.Int4)
	case ast.Number:
		t = pgtype.Of(pgtype.Numeric)
		if n, err := strconv.ParseInt(c.Text, 10, 64); err == nil {
			t = pgtype.Of(pgtype.Int8)
			if n == math.MinInt32 { // its sign is part of the literal only after the lexer
				t = pgtype.Of(pgtype.Int4)
			}
		}
	case ast.Boolean:
		t = pgtype.Of(pgtype.Bool)
	case ast.String, ast.Null:
	}
	return mirrorTerm(c.SQL(), t, c.At)
}

func (r *resolution) param(p *ast.Param) (Expr, error) {
	if p.N < 1 || p.N > len(r.Params) {
		return nil, pgerr.New(pgerr.Internal, "a parameter without a type").At(p.At)
	}
	t, ok := pgtype.OfParameter(r.Params[p.N-1])
	if !ok {
		return nil, notAllowed("a parameter of this type", p.At)
	}
	return mirrorTerm("$"+strconv.Itoa(p.N), t, p.At), nil
}

// valueFunction types CURRENT_DATE and its kin.
func valueFunction(e *ast.ValueFunc) (Expr, error) {
	name, _, _ := strings.Cut(e.Name, "(")
	switch name {
	case "CURRENT_DATE":
		return mirrorTerm(e.Name, pgtype.Of(pgtype.Date), e.At), nil
	case "CURRENT_TIMESTAMP":
		return mirrorTerm(e.Name, pgtype.Of(pgtype.Timestamptz), e.At), nil
	case "LOCALTIMESTAMP":
		return mirrorTerm(e.Name, pgtype.Of(pgtype.Timestamp), e.At), nil
	case "CURRENT_TIME":
		return mirrorTerm(e.Name, pgtype.Of(pgtype.Timetz), e.At), nil
	case "LOCALTIME":
		return mirrorTerm(e.Name, pgtype.Of(pgtype.Time), e.At), nil
	case "CURRENT_USER", "CURRENT_ROLE", "SESSION_USER", "USER", "CURRENT_CATALOG", "CURRENT_SCHEMA":
		return mirrorTerm(castSQL(e.Name, pgtype.Of(pgtype.Text)), pgtype.Of(pgtype.Text), e.At), nil
	}
	return nil, notAllowed(e.Name, e.At)
}

// explicit resolves a cast that the client wrote.
func (r *resolution) explicit(e *ast.Cast) (Expr, error) {
	x, err := r.resolve(e.X)
	if err != nil {
		return nil, err
	}
	return r.convert(x, e.Type, e.At)
}

// array resolves ARRAY[...] of constants.
func (r *resolution) array(e *ast.Array) (Expr, error) {
	list, err := r.resolveAll(e.Elems...)
	if err != nil {
		return nil, err
	}
	if !allFree(list) {
		return nil, notAllowed("an array with a column in it", e.At)
	}
	t, ok := common(list)
	if !ok || t.Array {
		return nil, pgerr.New(pgerr.NotAllowed, "an array of values of different types is not allowed on protected data").At(e.At).
			WithHint("Cast the elements to one type.")
	}
	bare := slices.ContainsFunc(list, bare)
	x, err := r.arrayOf(list, t, e.At)
	if err != nil || bare { // a cast would hide the type of a sub-select
		return x, err
	}
	return mirrorCast(x, x.Type(), e.At, nil), nil
}
