package constraint

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// checked is the only relation over which conditions are read.
type checked struct{ ast.Strangers }

// Relation implements parser.Names.
func (checked) Relation(_, name string) (ast.Relation, bool) {
	return ast.Relation{Schema: "public", Name: name, Protected: true}, true
}

// ConditionOn parses the expression of a CHECK that names a column, as Postgres prints it. It is nil if the expression does not name the
// column, or if the parser has no tree for it.
func ConditionOn(column, check string) ast.Expr {
	if !strings.Contains(strings.ToLower(check), strings.ToLower(column)) {
		return nil
	}
	script, err := parser.Parse("SELECT count(*) FROM checked WHERE "+check, checked{})
	if err != nil || len(script.Statements) != 1 || len(script.Statements[0].Blocks) != 1 {
		return nil
	}
	b := script.Statements[0].Blocks[0]
	if b.Err != nil {
		return nil
	}
	return b.Where
}

// Mirrored has for each comparison the comparison with its sides exchanged: a < b is b > a.
var Mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}

// opposite has for each comparison its negation.
var opposite = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// Number reads a number as Postgres prints it.
func Number(text string) (*big.Rat, bool) {
	if text == "" || strings.ContainsAny(text, "/_xXpP") || len(text) > 100 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// Names reports whether an expression is a column, cast or not.
func Names(column string, x ast.Expr) bool {
	c, ok := Uncast(x).(*ast.Column)
	return ok && c.Qualifier == "" && c.Name == column
}

// Constant returns the text of a constant as it is written, cast or not; "" for any other expression. NULL is none. Postgres prints a
// negative number as a text, '-5'::integer, or as the negation of a positive number: the operand of a minus sign has no sign itself.
func Constant(x ast.Expr) string {
	x = Uncast(x)
	if c, ok := x.(*ast.Const); ok && c.Kind != ast.Null {
		return c.Text
	}
	if op, ok := x.(*ast.Op); ok && op.Left == nil && op.Name == "-" {
		if c, ok := Uncast(op.Right).(*ast.Const); ok && (c.Kind == ast.Integer || c.Kind == ast.Number) {
			return "-" + strings.TrimPrefix(c.Text, "-")
		}
	}
	return ""
}

// Uncast returns the operand of casts.
func Uncast(x ast.Expr) ast.Expr {
	for {
		c, ok := x.(*ast.Cast)
		if !ok {
			return x
		}
		x = c.X
	}
}

// elements returns the elements of an array. A cast of the array is a cast of each element.
func elements(x ast.Expr) (list []ast.Expr, ok bool) {
	switch x := x.(type) { //nolint:gochecksumtype // others are not understood
	case *ast.Array:
		return x.Elems, true
	case *ast.Cast:
		within, ok := elements(x.X)
		if !ok || !x.Type.Array {
			return nil, false
		}
		for _, e := range within {
			each := *x
			each.X, each.Type.Array = e, false
			list = append(list, &each)
		}
		return list, true
	}
	return nil, false
}

// builtIn returns the names of the types to which an expression is cast. ok is false if a type has modifiers, which can change a value, or
// is an array or a type outside pg_catalog.
func builtIn(x ast.Expr) (names []string, ok bool) {
	for {
		c, cast := x.(*ast.Cast)
		if !cast {
			return names, true
		}
		if c.Type.Array || len(c.Type.Mods) > 0 || c.Type.Schema != "" && c.Type.Schema != "pg_catalog" {
			return nil, false
		}
		names, x = append(names, c.Type.Name), c.X
	}
}

var whole = []string{"int2", "int4", "int8"}

// keeps are the types to which a cast changes neither the values of the column nor their order.
func (c *Column) keeps() []string {
	switch c.fam { //nolint:exhaustive // others are compared as they are
	case pgtype.IntFamily:
		return append([]string{"numeric"}, whole...)
	case pgtype.FloatFamily:
		return []string{"float8"}
	case pgtype.DateFamily:
		return []string{"timestamp"}
	case pgtype.EnumFamily:
		return []string{"text", "varchar"}
	case pgtype.TextFamily:
		if c.padded {
			return []string{"text", "varchar", "bpchar"}
		}
		return []string{"text", "varchar"}
	}
	return nil
}

// isColumn reports whether an expression is the column, in casts that change no value. name is the name of the column in the condition.
func (c *Column) isColumn(name string, x ast.Expr) bool {
	casts, ok := builtIn(x)
	return ok && Names(name, x) && !slices.ContainsFunc(casts, func(t string) bool { return !slices.Contains(c.keeps(), t) })
}

// constant reads a constant that is compared with the column. ok is false if a cast or the comparison may change the constant, or if its
// value depends on the time zone of the session.
func (c *Column) constant(x ast.Expr) (v value, ok bool) {
	text := Constant(x)
	casts, known := builtIn(x)
	if c.fam == pgtype.EnumFamily && text != "" {
		return value{text: text}, true // of the enum's own type, or a text
	}
	if text == "" || !known {
		return value{}, false
	}
	may, exact := slices.Concat(whole, []string{"numeric", "float8"}), whole
	switch c.fam { //nolint:exhaustive // others are numbers
	case pgtype.DateFamily:
		may, exact = []string{"date", "timestamp"}, []string{"date"}
	case pgtype.InstantFamily:
		may, exact = []string{"timestamptz"}, nil
	case pgtype.TextFamily:
		may, exact = c.keeps(), nil
		if c.padded && slices.Contains(casts, "text") && strings.HasSuffix(text, " ") {
			return value{}, false
		}
	case pgtype.BoolFamily:
		may, exact = []string{"bool"}, nil
	}
	for _, t := range casts {
		if !slices.Contains(may, t) || slices.Contains(exact, t) && !c.isWhole(text) {
			return value{}, false
		}
	}
	v, ok = c.value(text)
	if ok && c.fam == pgtype.FloatFamily && new(big.Rat).Abs(v.at).Cmp(exactFloats) > 0 {
		return value{}, false
	}
	return v, ok
}

// exactFloats is 2⁵³: up to it, float8 has every whole number.
var exactFloats = new(big.Rat).SetInt64(1 << 53)

// isWhole reports whether a constant keeps its value in a type of whole numbers, or of days.
func (c *Column) isWhole(text string) bool {
	if c.fam == pgtype.DateFamily {
		return len(text) == len("2006-01-02")
	}
	n, ok := Number(text)
	return ok && n.IsInt()
}
