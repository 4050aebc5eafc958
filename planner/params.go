package planner

import (
	"strconv"
	"strings"
)

// A Param is a parameter of a DATA statement, by the source of its value.
type Param struct {
	Kind ParamKind
	Fold int    // index into the values of folds, of a FoldParam
	Text string // of a TextParam
	// Type is the type of a TextParam, as SQL. Postgres infers the type of a parameter from its first cast, so one text with two types is
	// two parameters.
	Type string
}

// A ParamKind is where the value of a parameter comes from.
type ParamKind uint8

// The sources of parameters.
const (
	FoldParam     ParamKind = iota + 1 // a constant of the analyst, evaluated on the mirror
	TextParam                          // text from the policy or the mirror
	InnerPadParam                      // the secret, as the inner block of HMAC-SHA256
	OuterPadParam                      // the secret, as the outer block of HMAC-SHA256
)

// parameters collects the parameters of one DATA statement. While the statement is written a parameter is a mark in the text, since an
// expression may ask for a parameter and then not use it.
type parameters struct {
	list []Param
	// inline, if not nil, writes a parameter in its place, with its value.
	inline func(p Param) string
}

// add returns the mark of a parameter. Equal parameters have one mark.
func (ps *parameters) add(p Param) string {
	if ps.inline != nil {
		return ps.inline(p)
	}
	for i, have := range ps.list {
		if have == p {
			return mark(i)
		}
	}
	ps.list = append(ps.list, p)
	return mark(len(ps.list) - 1)
}

// mark cannot occur in a name or a literal: texts of Postgres have no zero bytes.
func mark(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

// finish replaces the marks by $1, $2, ..., and returns the parameters in that order.
func (ps *parameters) finish(sql string) (string, []Param) {
	var used []Param
	number := map[string]string{}
	var b strings.Builder
	for i, part := range strings.Split(sql, "\x00") {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		if number[part] == "" {
			n, _ := strconv.Atoi(part) // only marks are between zero bytes
			used = append(used, ps.list[n])
			number[part] = "$" + strconv.Itoa(len(used))
		}
		b.WriteString(number[part])
	}
	return b.String(), used
}

// fold returns the mark of a constant.
func (ps *parameters) fold(i int) string { return ps.add(Param{Kind: FoldParam, Fold: i}) }

// hmac writes HMAC-SHA256(secret, tag || message). The padded keys are parameters, so that no text contains the secret. An order by it
// depends on the secret and on a unit's own rows alone.
func (ps *parameters) hmac(tag, message string) string {
	inner := "CAST(" + ps.add(Param{Kind: InnerPadParam}) + " AS pg_catalog.bytea)"
	outer := "CAST(" + ps.add(Param{Kind: OuterPadParam}) + " AS pg_catalog.bytea)"
	return "pg_catalog.sha256(" + outer + " || pg_catalog.sha256(" + inner + " || " + tag + "::pg_catalog.bytea || " + message + "))"
}

// A tag separates the orders of different things: with different tags, HMACs are independent. Package fold uses the tags 1 for values and 2
// for groups of a unit.
const tagJoin = `'\x03'` // for rows of a unit in a relation, before it is joined

// JoinOrder implements [keyed].
func (ps *parameters) JoinOrder(message string) string { return ps.hmac(tagJoin, message) }
