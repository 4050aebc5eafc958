package planner

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"dpproxy/parser"
	"dpproxy/pgerr"
)

// condition writes a predicate as SQL that cannot raise.
func (c *compiler) condition(p pred) (string, error) {
	switch p := p.(type) {
	case *comparison:
		return c.comparison(p.left, p.right, p.at, func(l, r string) string { return "(" + l + " OPERATOR(pg_catalog." + p.op + ") " + r + ")" })
	case *distinct:
		op := " IS DISTINCT FROM "
		if p.not {
			op = " IS NOT DISTINCT FROM "
		}
		return c.comparison(p.left, p.right, p.at, func(l, r string) string { return "(" + l + op + r + ")" })
	case *like:
		return c.like(p)
	case *null:
		if p.not {
			return "(" + c.plain(p.x) + " IS NOT NULL)", nil
		}
		return "(" + c.plain(p.x) + " IS NULL)", nil
	case *truth:
		if oid, _ := c.typeOf(p.x); oid != oidBool {
			return "", notSupported("a condition that is not boolean", p.at)
		}
		return c.plain(p.x), nil
	case *truthTest:
		x, err := c.condition(p.x)
		return "(" + x + " IS " + p.kind + ")", err
	case *logic:
		return c.logic(p)
	}
	return "", notSupported("this condition", 0)
}

func (c *compiler) logic(p *logic) (string, error) {
	parts := make([]string, len(p.args))
	for i, arg := range p.args {
		x, err := c.condition(arg)
		if err != nil {
			return "", err
		}
		parts[i] = x
	}
	switch p.kind {
	case parser.Not:
		return "(NOT " + parts[0] + ")", nil
	case parser.And:
		return "(" + strings.Join(parts, " AND ") + ")", nil
	case parser.Or:
	}
	return "(" + strings.Join(parts, " OR ") + ")", nil
}

func (c *compiler) like(p *like) (string, error) {
	// A pattern of type character(n) loses its trailing spaces on the way to text,
	// so that it could end with an escape character that checkPattern does not see.
	if oid, _ := c.typeOf(operand{fold: p.pattern}); oid != oidText && oid != oidVarchar {
		return "", notSupported("LIKE with a pattern that is not text", p.at)
	}
	if !p.col.Deterministic {
		return "", notSupported("LIKE on a column with a non-deterministic collation", p.at)
	}
	c.t.likes = append(c.t.likes, likeUse{p.pattern, p.at})
	op := "~~"
	if p.not {
		op = "!~~"
	}
	x := tableColumn(0, p.col.Name)
	if baseOID(p.col.Type) != oidBpchar { // character(n) has a LIKE of its own, which sees the padding
		x = "CAST(" + x + " AS pg_catalog.text)"
	}
	return "(" + x + " OPERATOR(pg_catalog." + op + ") CAST(" + c.plain(operand{fold: p.pattern}) + " AS pg_catalog.text))", nil
}

// comparison casts both sides to types with a common operator that cannot raise.
// Casts go from integer to numeric or float only: from numeric to float a large
// value would raise.
func (c *compiler) comparison(l, r operand, at int, write func(l, r string) string) (string, error) {
	lo, lk := c.typeOf(l)
	ro, rk := c.typeOf(r)
	lf, rf := familyOf(lo, lk), familyOf(ro, rk)
	ls, rs := c.plain(l), c.plain(r)
	switch {
	case lf == noFamily || rf == noFamily:
		return "", mismatch(c.typeName(l), c.typeName(r), at)
	case lf == enumFamily || rf == enumFamily:
		return c.enums(l, r, at, write)
	case lf == textFamily && rf == textFamily:
		if otherCollations(l, r) {
			return "", notSupported("a comparison of columns with different collations", at)
		}
		if lo != ro {
			ls, rs = "CAST("+ls+" AS pg_catalog.text)", "CAST("+rs+" AS pg_catalog.text)"
		}
	case lf == rf:
	case lf == intFamily && (rf == numericFamily || rf == floatFamily):
		ls = "CAST(" + ls + " AS " + wider(rf) + ")"
	case rf == intFamily && (lf == numericFamily || lf == floatFamily):
		rs = "CAST(" + rs + " AS " + wider(lf) + ")"
	default:
		return "", mismatch(c.typeName(l), c.typeName(r), at)
	}
	return write(ls, rs), nil
}

// otherCollations reports whether two columns are collated differently: Postgres
// would then raise when it meets the first row that it has to compare.
func otherCollations(l, r operand) bool {
	return l.col != nil && r.col != nil && l.col.Collation != r.col.Collation
}

func wider(f family) string {
	if f == floatFamily {
		return "pg_catalog.float8"
	}
	return "pg_catalog.numeric"
}

// enums compares an enum column with a constant or column of the same enum.
func (c *compiler) enums(l, r operand, at int, write func(l, r string) string) (string, error) {
	// A constant of a type that the analyst has made is no enum of ours, but may
	// have an implicit cast to any type on the mirror: its text would be cast again
	// row by row, and raise. (Of a column's own enum the mirror takes no other.)
	for _, col := range []*column{l.col, r.col} {
		if col != nil && columnFamily(col.Type) != enumFamily {
			return "", mismatch(c.typeName(l), c.typeName(r), at)
		}
	}
	if l.col == nil && r.col == nil {
		return "", mismatch(c.typeName(l), c.typeName(r), at)
	}
	if l.col != nil && r.col != nil {
		if l.col.Type.Name != r.col.Type.Name {
			return "", mismatch(c.typeName(l), c.typeName(r), at)
		}
		return write(c.plain(l), c.plain(r)), nil
	}
	typed := func(x operand, other *column) string {
		if x.col != nil {
			return c.plain(x)
		}
		return "CAST(CAST(" + c.foldParamOf(x.fold) + " AS pg_catalog.text) AS " + mirrorType(other) + ")"
	}
	return write(typed(l, r.col), typed(r, l.col)), nil
}

// typeOf returns the base type of an operand; an enum keeps its kind.
func (c *compiler) typeOf(x operand) (oid uint32, kind byte) {
	if x.col != nil {
		return baseOID(x.col.Type), x.col.Type.Kind
	}
	if oid := c.oids[x.fold]; oid < firstUserOID {
		return oid, 'b'
	}
	return c.oids[x.fold], 'e'
}

func (c *compiler) typeName(x operand) string {
	if x.col != nil {
		return "a column of type " + x.col.Type.Display
	}
	if n := builtinName(c.oids[x.fold]); n != "" {
		return "a constant of type " + strings.TrimPrefix(n, "pg_catalog.")
	}
	return "a constant of this type"
}

// plain writes an operand in its own base type.
func (c *compiler) plain(x operand) string {
	if x.col == nil {
		name := builtinName(c.oids[x.fold])
		if name == "" {
			name = "pg_catalog.text" // only its being NULL matters
		}
		return "CAST(" + c.foldParamOf(x.fold) + " AS " + name + ")"
	}
	col := tableColumn(0, x.col.Name)
	if x.col.Type.Kind == 'd' {
		return "CAST(" + col + " AS " + builtinName(baseOID(x.col.Type)) + ")"
	}
	return col
}

func (c *compiler) foldParamOf(fold int) string {
	if n, ok := c.foldParam[fold]; ok {
		return "$" + strconv.Itoa(n)
	}
	s := c.param(Param{Kind: FoldParam, Fold: fold})
	c.foldParam[fold] = len(c.params)
	return s
}

// checkPattern refuses a LIKE pattern that Postgres would raise on for some rows
// only, and patterns long enough to aim at the clock.
func checkPattern(pattern string, at int) error {
	const longest, wildcards = 256, 8
	if len(pattern) > longest || strings.Count(pattern, "%") > wildcards {
		return pgerr.New(pgerr.NotAllowed, "a LIKE pattern on protected data has at most %d bytes and %d %% signs", longest, wildcards).At(at).
			WithHint("Use a simpler pattern.")
	}
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i++; i == len(pattern) {
			return pgerr.New(pgerr.NotAllowed, "a LIKE pattern must not end with the escape character").At(at).
				WithHint(`Write \\ for a backslash.`)
		}
	}
	return nil
}

func int8Literal(n int64) string { return fmt.Sprintf("CAST(%d AS pg_catalog.int8)", n) }

func numericLiteral(r *big.Rat) string {
	return "CAST(" + strings.TrimSuffix(strings.TrimRight(r.FloatString(30), "0"), ".") + " AS pg_catalog.numeric)"
}

func floatLiteral(f float64) string {
	return "CAST('" + strconv.FormatFloat(f, 'g', -1, 64) + "' AS pg_catalog.float8)"
}
