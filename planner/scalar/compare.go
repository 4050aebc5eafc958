package scalar

import (
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// joined casts the other operand of || to text if one is a text, as anynonarray || text does.
func (b *builder) joined(args []Expr, at int) ([]Expr, error) {
	for i, x := range args {
		other := args[1-i].Type()
		if x.free() || x.Type().Family() == pgtype.TextFamily || other.Family() != pgtype.TextFamily && other.Argument() != pgtype.Unknown {
			continue
		}
		text, err := b.convert(x, ast.TypeName{Schema: "pg_catalog", Name: "text"}, at)
		if err != nil {
			return nil, err
		}
		args[i] = text
	}
	return args, nil
}

// compared resolves a test that compares values with each other.
func (b *builder) compared(fn *function, args []Expr, at int) (Expr, error) {
	args, err := b.unify(args, at)
	if err != nil {
		return nil, err
	}
	return b.test(fn, at, args...)
}

// test makes a test of arguments that have their types.
func (b *builder) test(fn *function, at int, args ...Expr) (Expr, error) {
	return b.call(fn, pgtype.Of(pgtype.Bool), at, args...)
}

func (b *builder) compare(op string, args []Expr, at int) (Expr, error) {
	return b.compared(&function{name: op, operator: true, over: comparison, strict: 2}, args, at)
}

// combined joins conditions.
func (b *builder) combined(kind ast.BoolKind, args []Expr, at int) (Expr, error) {
	args, free, err := b.beside(args)
	return &logic{node{pgtype.Of(pgtype.Bool), at, free}, kind, args}, err
}

// elements compares with the elements of an array. For an empty array ALL is true and ANY is false.
func elements(op string, all bool) *function {
	word := " ANY"
	if all {
		word = " ALL"
	}
	return &function{name: op + word, syntax: elementsSQL, over: ofArray}
}

// like resolves LIKE and ILIKE with a constant pattern. A pattern of type character(n) loses its trailing spaces when it is cast to text,
// and could then end with an escape character that checkPattern does not see.
func (b *builder) like(op string, args []Expr, at int) (Expr, error) {
	x, pattern := args[0], args[1]
	t := x.Type()
	if !pattern.free() || !unknown(pattern) && pattern.Type().OID != pgtype.Text && pattern.Type().OID != pgtype.Varchar {
		return nil, notAllowed("LIKE with a pattern that is no constant text", at)
	}
	if !unknown(x) && t.Family() != pgtype.TextFamily {
		return nil, notAllowed("LIKE on a value of type "+t.String(), at)
	}
	if !x.free() && !t.Deterministic {
		return nil, notAllowed("LIKE on a text with a non-deterministic collation", at)
	}
	pattern, err := b.coerce(pattern, pgtype.Of(pgtype.Text))
	if err != nil {
		return nil, err
	}
	if t.OID != pgtype.Bpchar { // character(n) has its own LIKE, which sees the padding
		if x, err = b.coerce(x, pgtype.Of(pgtype.Text)); err != nil {
			return nil, err
		}
	}
	return b.test(&function{name: op, operator: true, over: likeness, strict: 1}, at, x, pattern)
}
