package scalar

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
)

// NormalForms writes no SQL, but texts that say which question is asked: two conditions with one text are true of the same rows, in every
// database that policy and schema admit, and false of the same rows. AND and OR are flat, sorted, and without repetition. NOT stands
// before single tests alone. A test of one expression and constants is a region of its values (region.go): 6 < x is x > 6, and x >= 7 too,
// of an integer. Everything else is written as it is for DATA.
type NormalForms struct{}

var _ Forms = NormalForms{}

// All implements [Forms].
func (NormalForms) All(w *Writer, list []Expr) ([]string, error) {
	n := normaliser{w, true}
	f, err := n.joined(every, list, false)
	if err != nil {
		return nil, err
	}
	if f.kind != every {
		f = form{kind: every, parts: []form{f}}
	}
	return n.texts(f), nil
}

// Whole implements [Forms].
func (NormalForms) Whole(w *Writer, e Expr) (string, error) {
	n := normaliser{w, false}
	f, err := n.form(e, false)
	return n.text(f), err
}

// A form is a condition in its normal form.
type form struct {
	kind  formKind
	known truth  // of a test of one expression
	leaf  string // of any other test
	parts []form // of every and some
}

type formKind uint8

const (
	leaf formKind = iota
	tested
	every // AND; without parts it is true
	some  // OR; without parts it is false
)

// A normaliser makes normal forms.
type normaliser struct {
	w *Writer
	// only says that it only matters whether conditions are true.
	only bool
}

// form returns the normal form of a condition, or, if not is true, of its negation.
func (n normaliser) form(e Expr, not bool) (form, error) {
	if err := n.w.Env.Work.Spend(perExpression); err != nil {
		return form{}, err
	}
	known, ok, err := n.truthOf(e)
	if err != nil {
		return form{}, err
	}
	if ok {
		if not {
			known.is, known.not = known.not, known.is
		}
		return n.settled(form{kind: tested, known: known}), nil
	}
	switch e := e.(type) { //nolint:gochecksumtype // the others are tests
	case *logic:
		switch {
		case e.kind == ast.Not:
			return n.form(e.args[0], !not)
		case (e.kind == ast.And) != not:
			return n.joined(every, e.args, not)
		}
		return n.joined(some, e.args, not)
	case *constant:
		if f, ok := n.constant(e, not); ok {
			return f, nil
		}
	case *call:
		if n.only && !not && (e.fn.name == "IS TRUE" || e.fn.name == "IS FALSE") {
			return n.form(e.args[0], e.fn.name == "IS FALSE")
		}
	}
	text, denied, err := n.test(e)
	if not != denied {
		text = "NOT " + text
	}
	return form{leaf: text}, err
}

// constant returns the form of a constant. One that is NULL is neither true nor false.
func (n normaliser) constant(c *constant, not bool) (f form, ok bool) {
	p, null, ok := pointOf(n.w.Env, c)
	switch {
	case !ok || null && !n.only:
		return f, false
	case null || (p.number.Sign() == 0) != not:
		return form{kind: some}, true
	}
	return form{kind: every}, true
}

// joined joins conditions, or their negations.
func (n normaliser) joined(kind formKind, list []Expr, not bool) (form, error) {
	out := form{kind: kind}
	for _, e := range list {
		f, err := n.form(e, not)
		switch {
		case err != nil:
			return f, err
		case f.kind == kind:
			out.parts = append(out.parts, f.parts...)
		case (f.kind == every || f.kind == some) && len(f.parts) == 0: // it decides all
			return f, nil
		default:
			out.parts = append(out.parts, f)
		}
	}
	return n.gathered(out), nil
}

// gathered makes one part of all that test the same expression.
func (n normaliser) gathered(f form) form {
	at := map[string]int{}
	var parts []form
	for _, p := range f.parts {
		if p.kind != tested {
			parts = append(parts, p)
			continue
		}
		i, ok := at[p.known.subject]
		if !ok {
			at[p.known.subject] = len(parts)
			parts = append(parts, p)
			continue
		}
		k := &parts[i].known
		if f.kind == every {
			k.is, k.not = k.is.and(p.known.is), k.not.or(p.known.not)
		} else {
			k.is, k.not = k.is.or(p.known.is), k.not.and(p.known.not)
		}
	}
	out := form{kind: f.kind}
	for _, p := range parts {
		if p.kind == tested {
			p = n.settled(p)
		}
		switch {
		case p.kind == f.kind && len(p.parts) == 0: // it decides nothing
		case (p.kind == every || p.kind == some) && len(p.parts) == 0:
			return p
		default:
			out.parts = append(out.parts, p)
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0]
	}
	return out
}

// settled leaves out what no row has, and says whether the test is true, or false, of each row.
func (n normaliser) settled(f form) form {
	k := f.known
	k.is, k.not = k.is.and(k.among), k.not.and(k.among)
	if n.only {
		k.not = region{}
	}
	switch {
	case k.is.equal(k.among):
		return form{kind: every}
	case n.only && k.is.empty(), k.not.equal(k.among):
		return form{kind: some}
	}
	return form{kind: tested, known: k}
}

// text writes a form.
func (n normaliser) text(f form) string {
	switch f.kind {
	case every, some:
		word := "ALL"
		if f.kind == some {
			word = "SOME"
		}
		return word + " [" + strings.Join(n.texts(f), "; ") + "]"
	case tested:
		text := "[" + f.known.subject + " IN " + f.known.is.String()
		if !n.only {
			text += " OUT " + f.known.not.String()
		}
		return text + "]"
	case leaf:
	}
	return f.leaf
}

// texts writes the parts of a form.
func (n normaliser) texts(f form) []string {
	out := make([]string, len(f.parts))
	for i, p := range f.parts {
		out[i] = n.text(p)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// test writes a test of which nothing is known; not says that it is the negation of what is written.
func (n normaliser) test(e Expr) (text string, not bool, err error) {
	c, ok := e.(*call)
	if !ok || !c.fn.operator || !slices.Contains(comparisons, c.fn.name) {
		text, err = n.asWritten(e)
		return text, false, err
	}
	sides := make([]string, len(c.args))
	for i, x := range c.args {
		f, err := n.w.comparand(x, c.args, forEquality(c))
		if err != nil {
			return "", false, err
		}
		sides[i] = n.w.instant(f).sql
	}
	a, b, op := sides[0], sides[1], c.fn.name
	switch op { // Postgres's order is total: NaN is a number that is greater than all others
	case ">", "<=":
		a, b = b, a
	case "=", "<>":
		a, b = min(a, b), max(a, b)
	}
	if forEquality(c) {
		return "(" + a + " = " + b + ")", op == "<>", nil
	}
	return "(" + a + " < " + b + ")", op == "<=" || op == ">=", nil
}

// asWritten writes a test as it is for DATA, but for the conditions in it.
func (n normaliser) asWritten(e Expr) (string, error) {
	var f fragment
	var err error
	if c, ok := e.(*call); ok {
		f, err = c.fn.over.write(n.w, c)
	} else {
		f, err = n.w.write(e, asIs)
	}
	return f.sql, err
}
