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

// literal gives a literal the type that it has in Postgres.
func literal(c *ast.Const) Expr {
	t := pgtype.Of(pgtype.Unknown)
	switch c.Kind {
	case ast.Integer:
		t = pgtype.Of(pgtype.Int4)
	case ast.Number:
		t = pgtype.Of(pgtype.Numeric)
		if n, err := strconv.ParseInt(c.Text, 10, 64); err == nil {
			t = pgtype.Of(pgtype.Int8)
			if n == math.MinInt32 { // the lexer does not see the sign as part of the literal
				t = pgtype.Of(pgtype.Int4)
			}
		}
	case ast.Boolean:
		t = pgtype.Of(pgtype.Bool)
	case ast.String, ast.Null:
	}
	x := mirrorTerm(c.SQL(), t, c.At)
	x.unknown = c.Unknown
	return x
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

// valueFunction gives CURRENT_DATE and its kin their types.
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
	if of, ok := e.X.(*ast.Field); ok {
		return fieldAs(r, of, e)
	}
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

// series are the variants of generate_series, which take constants only. The variant for numerics is missing, since its values can have any
// number of digits.
var series = index(false, group{nil, `
	generate_series int4 int4 > int4; generate_series int4 int4 int4 > int4;
	generate_series int8 int8 > int8; generate_series int8 int8 int8 > int8;
	generate_series timestamp timestamp interval > timestamp;
	generate_series timestamptz timestamptz interval > timestamptz`})

// List resolves the values of a column of a relation of constants as one constant array.
func (r *Resolver) List(l ast.List, at int) (Expr, error) {
	return r.resolution().list(l, at)
}

func (r *resolution) list(l ast.List, at int) (Expr, error) {
	var x Expr
	var err error
	switch {
	case l.Array != nil:
		x, err = r.resolve(l.Array)
		at = l.Array.Pos()
	case l.Like != nil:
		x, err = r.queried(l, at)
	default:
		x, err = r.series(l.Series, at)
	}
	switch {
	case err != nil:
		return nil, err
	case !x.Type().Array || !x.free() || x.Type().Named():
		return nil, pgerr.New(pgerr.NotAllowed, "a list that is no array of constants cannot be joined with protected rows").At(at).
			WithHint("Write constants, or a cast of each to one type.")
	}
	return r.fold(x)
}

// series resolves generate_series.
func (r *resolution) series(list []ast.Expr, at int) (Expr, error) {
	args, err := r.resolveAll(list...)
	if err != nil {
		return nil, err
	}
	fn, ok := pgtype.Pick(series["generate_series"], oids(args))
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "no function generate_series%s is allowed on protected data", signature(args)).At(at).
			WithHint("It can be of whole numbers, or of dates and times with an interval as step.")
	}
	x, err := r.apply(fn, args, at)
	if err != nil {
		return nil, err
	}
	return listing(mirrorSQL(x), pgtype.Of(fn.result), at), nil
}

// queried is the list of a query with one column.
func (r *resolution) queried(l ast.List, at int) (Expr, error) {
	like, err := r.resolve(l.Like)
	switch {
	case err != nil:
		return nil, err
	case bare(like) || !like.free():
		return nil, untyped(like.Pos())
	}
	t := like.Type()
	if unknown(like) {
		t = pgtype.Of(pgtype.Text)
	}
	return listing("x FROM ("+l.Query+") AS q(x)", t, at), nil
}

// listing is the array of the rows of a SELECT.
func listing(selected string, element pgtype.Type, at int) Expr {
	t := element.Unmodified()
	t.Array = true
	return mirrorTerm("ARRAY(SELECT "+selected+" LIMIT "+strconv.Itoa(MaxListed+1)+")", t, at)
}
