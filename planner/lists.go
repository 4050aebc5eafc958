package planner

import (
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
	"dpproxy/planner/sqltext"
	"dpproxy/planner/work"
)

// Keys that are no columns of public tables have public values if the policy, constants and the conditions of the statement leave few. The
// mirror computes these values once the constants are known: all keys over the same columns together, so that no combination is listed that
// no row can have (scalar.Listing). Where there are too many of them, the keys are private.

// An asked is keys of a block whose values the mirror is asked for.
type asked struct {
	b    *block
	keys []int
	// factor is what has these keys if they are over public tables, else nil.
	factor *factor
	// at is its place among the lists of the statement.
	at int
	// bridge is what is counted, and condition what is to be met, if there are no keys.
	bridge    *source.Bridge
	condition scalar.Expr
}

// ask notes what the mirror is asked for: for each grouping set, the keys over the same columns. Of several sets it is asked for each key
// alone too, since a set counts no rows that others leave out.
func (q *Query) ask(b *block) {
	for _, f := range b.factors {
		if f.later {
			f.at = len(q.lists)
			q.lists = append(q.lists, &asked{b: b, keys: f.keys, factor: f, at: f.at})
		}
	}
	sets := b.sets
	if len(sets) > 1 {
		for i := range b.keys {
			sets = append(slices.Clip(sets), []int{i})
		}
	}
	for _, set := range sets {
		for _, keys := range b.together(set) {
			if b.lists[ordinals(keys)] == nil {
				a := &asked{b: b, keys: keys, at: len(q.lists)}
				b.lists[ordinals(keys)], q.lists = a, append(q.lists, a)
			}
		}
	}
	source.AskBridges(b.source, func(br *source.Bridge) int {
		q.lists = append(q.lists, &asked{b: b, at: len(q.lists), bridge: br})
		return len(q.lists) - 1
	})
}

// A Listing is a question to the mirror about the values of keys, whose answer is a text. $1 is the value of the first constant. SQL is
// empty if the keys are private.
type Listing struct {
	SQL       string
	Concealed bool // no analyst may see the text
}

// Lists returns what the mirror is asked for beyond the constants, whose values are known now. The answers come after the values of the
// constants: without SQL, an answer is NULL.
func (q *Query) Lists(m *work.Meter, values []scalar.Value) ([]Listing, error) {
	if len(q.lists) == 0 {
		return nil, nil
	}
	if err := q.Check(values); err != nil {
		return nil, err
	}
	env := &scalar.Env{
		Values: values, TimeZones: q.cat.TimeZones(), Before14: q.cat.Before14(), UTF8: true, Extents: true, Work: m,
	}
	out := make([]Listing, len(q.lists))
	for i, a := range q.lists {
		out[i] = a.listing(env)
		if err := m.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ListsSQL writes the questions that may be seen, or those that may not, as one SELECT; a question without SQL is NULL. It is empty if
// there is nothing to ask.
func ListsSQL(all []Listing, concealed bool) string {
	columns, some := make([]string, len(all)), false
	for i, l := range all {
		if columns[i] = "CAST(NULL AS pg_catalog.text)"; l.SQL != "" && l.Concealed == concealed {
			columns[i], some = l.SQL, true
		}
	}
	if !some {
		return ""
	}
	return "SELECT " + strings.Join(columns, ", ")
}

// Parameters returns the values of constants as parameters of such a question. An analyst can read those of one that may be seen: there
// constants that are concealed are NULL.
func (q *Query) Parameters(values []scalar.Value, concealed bool) (params [][]byte, oids []uint32, formats []int16) {
	for i, f := range q.Folds() {
		value, oid := values[i].Bytes, values[i].OID
		if f.Concealed && !concealed {
			value = nil
		}
		switch {
		case f.Type.Wire() == 0: // of a user-defined type, perhaps one of the analyst's own: its input calls functions of theirs
			oid = pgtype.Text
		case value == nil:
			oid = f.Type.Wire()
		}
		params, oids, formats = append(params, value), append(oids, oid), append(formats, f.Format())
	}
	return params, oids, formats
}

// ConcealsLists reports whether the text of a list must not be seen.
func (q *Query) ConcealsLists() bool {
	return slices.ContainsFunc(q.lists, func(a *asked) bool { return a.b.source.Concealing() })
}

// listing returns the question about some keys.
func (a *asked) listing(env *scalar.Env) Listing {
	switch {
	case a.bridge != nil:
		return a.counting(env)
	case a.condition != nil:
		return a.meeting(env)
	case a.factor != nil:
		return a.publicListing(env)
	}
	var keys []scalar.Expr
	for _, k := range a.keys {
		keys = append(keys, a.b.keys[k].expr)
	}
	l, ok := a.lister(env).List(keys, a.b.source.AllConjuncts())
	if !ok {
		return Listing{}
	}
	mark := declaredMark
	if l.Implied {
		mark = impliedMark
	}
	return Listing{SQL: different{l.Keys, l.Types, fromSQL(l.From), l.Where}.text(mark), Concealed: a.b.source.Concealing()}
}

func (a *asked) lister(env *scalar.Env) *scalar.Lister {
	return &scalar.Lister{
		Env: env, Fold: parameter, Lists: a.b.source.ListsOf, Array: ArrayText,
		Public: publicRows{a.b.source, &scalar.Writer{Env: env, Fold: parameter}, a.b.constants.Inlined(true)},
	}
}

// publicRows are the rows of the public relations of a source.
type publicRows struct {
	*source.Source
	w         *scalar.Writer
	constants scalar.Inlined
}

// Rows implements [scalar.Publics].
func (p publicRows) Rows(cols []*scalar.Column) (sql string, most int64, ok bool) {
	if most, ok = p.MostRows(cols); !ok {
		return "", 0, false
	}
	part, ok, err := p.PublicPart(p.w, p.constants, cols)
	if !ok || err != nil {
		return "", 0, false
	}
	q := &sqltext.Select{Distinct: true, From: &sqltext.Table{SQL: part.From}, Where: []string{part.Where}}
	for n, c := range cols {
		if as := part.Renamed[c]; as != nil {
			c = as
		}
		q.Columns = append(q.Columns, sqltext.Column{SQL: c.Read(), As: "c" + strconv.Itoa(n+1)})
	}
	return q.SQL(), most, true
}

// Found implements [scalar.Publics].
func (p publicRows) Found(w *scalar.Writer, q *scalar.Query) (sql string, ok bool) {
	return p.Source.Found(w, p.constants, q)
}

func parameter(fold int) string { return "$" + strconv.Itoa(fold+1) }

// publicListing is listing for keys over public tables.
func (a *asked) publicListing(env *scalar.Env) Listing {
	w, constants := &scalar.Writer{Env: env, Fold: parameter}, a.b.constants.Inlined(true)
	var cols []*scalar.Column
	for _, k := range a.keys {
		cols = append(cols, a.b.keys[k].expr.Columns()...)
	}
	part, ok, err := a.b.source.PublicPart(w, constants, cols)
	if !ok || err != nil {
		return Listing{}
	}
	d, err := publicKeys(a.b.keys, a.keys, part, w, constants)
	if err != nil {
		return Listing{}
	}
	return Listing{SQL: d.text(declaredMark), Concealed: a.b.source.Concealing()}
}

// counting is listing for a bridge. Without an answer, tables by themselves say how many rows meet one.
func (a *asked) counting(env *scalar.Env) Listing {
	sql, err := a.bridge.SQL(&scalar.Writer{Env: env, Fold: parameter, Query: a.b.source.WriteQuery})
	if err != nil {
		return Listing{}
	}
	return Listing{SQL: "CAST((" + sql + ") AS pg_catalog.text)", Concealed: a.b.source.Concealing()}
}

// An answer begins with a mark: whether bounds imply the values.
const (
	declaredMark = "d"
	impliedMark  = "i"
)

// listed returns the public values of keys that the mirror was asked for; public is false if the keys are private.
func (d *domains) listed(keys []int) (rows [][]*string, public bool, err error) {
	i := d.folds + d.b.lists[ordinals(keys)].at
	if i >= len(d.env.Values) { // no mirror was asked, as where a policy is checked
		return d.unasked(keys)
	}
	text := d.env.Values[i].Bytes // private groups are right whatever the mirror would have said
	if text == nil {
		return d.certain(keys)
	}
	types, err := d.types(keys)
	if err != nil {
		return nil, false, err
	}
	if rows, err = d.rows(text[min(1, len(text)):], types, d.b.keys[keys[0]].at); rows == nil || err != nil {
		return nil, false, err
	}
	return rows, len(rows) <= maxFinite || string(text[:1]) != impliedMark, nil
}

// types returns the types in which keys are written for the protected database.
func (d *domains) types(keys []int) ([]pgtype.Type, error) {
	types := make([]pgtype.Type, len(keys))
	w := &scalar.Writer{Env: d.env, Fold: func(int) string { return "" }, Query: d.b.source.WriteQuery}
	for n, k := range keys {
		var err error
		if _, types[n], err = w.Key(d.b.keys[k].expr); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// unasked returns the values of a key as its bounds alone tell them.
func (d *domains) unasked(keys []int) (rows [][]*string, public bool, err error) {
	if len(keys) > 1 {
		return nil, false, nil
	}
	rows, public = d.finite(d.b.keys[keys[0]])
	return rows, public, nil
}

// certain returns the values of keys that depend on a released result that is not known yet.
func (d *domains) certain(keys []int) (rows [][]*string, public bool, err error) {
	if !d.env.Unsettled(d.b.keys[keys[0]].expr) {
		return nil, false, nil
	}
	return d.unasked(keys)
}
