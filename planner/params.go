package planner

import (
	"strconv"
	"strings"
)

// A Param is one parameter of a DATA statement, by its source.
type Param struct {
	Kind ParamKind
	Fold int    // for FoldParam: index into the fold values
	Text string // for TextParam
	// Type is that of a TextParam, as SQL: Postgres takes a parameter for the type that it
	// is first cast to, so that one text of two types is two.
	Type string
}

// A ParamKind is where the value of a parameter comes from.
type ParamKind uint8

// The sources of parameters.
const (
	FoldParam     ParamKind = iota + 1 // a constant of the analyst, as the mirror evaluated it
	TextParam                          // text from the policy or the mirror
	InnerPadParam                      // the secret, as the inner block of HMAC-SHA256
	OuterPadParam                      // the secret, as the outer block of HMAC-SHA256
)

// parameters collects those of one DATA statement. While it is written, a parameter is
// a mark in the text, since an expression may ask for one and then not use it.
type parameters struct{ list []Param }

// add returns the mark of a parameter. Each source is one parameter.
func (ps *parameters) add(p Param) string {
	for i, have := range ps.list {
		if have == p {
			return mark(i)
		}
	}
	ps.list = append(ps.list, p)
	return mark(len(ps.list) - 1)
}

// mark cannot be in a name or literal: no text of Postgres has a zero byte.
func mark(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

// finish puts $1, $2, ... in the places of the marks, and returns the parameters in that
// order.
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
			n, _ := strconv.Atoi(part) // marks alone are between zero bytes
			used = append(used, ps.list[n])
			number[part] = "$" + strconv.Itoa(len(used))
		}
		b.WriteString(number[part])
	}
	return b.String(), used
}

// fold returns the mark of a constant.
func (ps *parameters) fold(i int) string { return ps.add(Param{Kind: FoldParam, Fold: i}) }

// hmac writes HMAC-SHA256(secret, tag || message); the padded keys are
// parameters, so that the secret is in no text. The orders that it gives depend on the
// secret and on a unit's own rows, and on nothing else.
func (ps *parameters) hmac(tag, message string) string {
	inner := "CAST(" + ps.add(Param{Kind: InnerPadParam}) + " AS pg_catalog.bytea)"
	outer := "CAST(" + ps.add(Param{Kind: OuterPadParam}) + " AS pg_catalog.bytea)"
	return "pg_catalog.sha256(" + outer + " || pg_catalog.sha256(" + inner + " || " + tag + "::pg_catalog.bytea || " + message + "))"
}

// A tag separates the orders of different things: an HMAC of one is none of another. 1 and 2 are those of values and groups of a
// unit, in package fold.
const tagJoin = `'\x03'` // rows of a unit in a relation, before it is joined

// JoinOrder implements [keyed].
func (ps *parameters) JoinOrder(message string) string { return ps.hmac(tagJoin, message) }
