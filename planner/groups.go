package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// A key is one grouping expression.
type key struct {
	expr scalar.Expr
	typ  pgtype.Type
	at   int
}

func newKey(r *scalar.Resolver, e ast.Expr) (*key, error) {
	x, err := r.Expr(e)
	if err != nil {
		return nil, err
	}
	k := &key{expr: x, typ: x.Type(), at: e.Pos()}
	if _, err := scalar.KeyText(k.typ, ""); err != nil {
		return nil, pgerr.New(pgerr.PrivateGroupKey, "protected rows cannot be grouped by values of type %s", k.typ).At(k.at).
			WithHint("Equal values of this type can look different. Cast the key to text, numeric or date.")
	}
	return k, nil
}

// A factor is some keys of a block whose public values are known together, as rows of
// texts: the domain of the block is the product of its factors. They are functions of
// the policy, the statement and public rows alone.
type factor struct {
	keys []int
	rows [][]*string // if fold is negative
	fold int         // a constant that holds the rows as JSON
}

// domains finds the keys whose values are public: those over columns with declared
// values, and those over public tables. What remains has public values if its bounds
// tell them (domains.lists), and is private otherwise.
func (q *Query) domains(b *block) error {
	done := make([]bool, len(b.keys))
	for i, k := range b.keys {
		if done[i] {
			continue
		}
		cols := k.expr.Columns()
		switch {
		case len(cols) == 0:
			continue
		case every(cols, b.source.ShowsPublic):
			q.publicFactor(b, i, done)
		case q.listable(k):
			q.declaredFactor(b, i, done)
		}
	}
	return q.refusePrivateKeys(b)
}

// refusePrivateKeys refuses private keys where a public table is to declare them.
func (q *Query) refusePrivateKeys(b *block) error {
	if !b.source.DeclaresKeys() {
		return nil
	}
	for i, k := range b.keys {
		known := slices.ContainsFunc(b.factors, func(f *factor) bool { return slices.Contains(f.keys, i) })
		if !known || !every(k.expr.Columns(), b.source.IsPublic) {
			return pgerr.New(pgerr.Ownership, "a public table that is joined with LEFT JOIN declares the groups: this key is not of it").At(k.at).
				WithHint("Group by columns of the public table, or use an inner join.")
		}
	}
	return nil
}

func every(cols []*scalar.Column, f func(*scalar.Column) bool) bool {
	return !slices.ContainsFunc(cols, func(c *scalar.Column) bool { return !f(c) })
}

// declared reports whether the values of a column can be listed: they are declared, or
// whole numbers or dates within bounds.
func declared(c *scalar.Column) bool { return c.Base().Values != nil || spanOf(c.Base()) > 0 }

// spanOf returns how many whole numbers or dates the bounds of a column hold; 0 for other
// columns, and for those that have too many to list.
func spanOf(c *scalar.Column) int64 {
	in := (&scalar.Env{}).Bounds(&scalar.Ref{Column: c})
	if len(c.Of) > 0 || !in.Bounded() || c.Type.Family() != pgtype.IntFamily && c.Type.OID != pgtype.Date {
		return 0
	}
	low, ok1 := toInt64(pgtype.Floor(in.Low))
	high, ok2 := toInt64(pgtype.Ceil(in.High))
	if !ok1 || !ok2 || high-low >= maxListed || high < low {
		return 0
	}
	return high - low + 1
}

// maxListed bounds the values of a column, and the combinations of several, that the
// mirror computes keys from.
const maxListed = 50_000

// listable reports whether the mirror can list the values of a key: an expression, other
// than the beginning of a period in the session's time zone, over columns with few
// values together.
func (q *Query) listable(k *key) bool {
	cols := q.leaves(k.expr)
	if len(cols) == 0 || !every(cols, declared) || k.typ.Family() == pgtype.InstantFamily {
		return false
	}
	if c, plain := scalar.PlainColumn(k.expr); plain && c.Base().Values == nil && computation(c) == nil {
		return false
	}
	product := int64(1)
	for _, c := range cols {
		product *= max(spanOf(c.Base()), int64(len(c.Base().Values))) + 1
		if product > maxListed {
			return false
		}
	}
	return true
}

// publicFactor joins the keys over the same public relations.
func (q *Query) publicFactor(b *block, first int, done []bool) {
	w := q.inlined(b)
	from, where, ok, err := b.source.PublicPart(w, b.keys[first].expr.Columns())
	if !ok || err != nil {
		return
	}
	f := &factor{}
	for i := first; i < len(b.keys); i++ {
		cols := b.keys[i].expr.Columns()
		if done[i] || len(cols) == 0 || !every(cols, b.source.ShowsPublic) {
			continue
		}
		if also, cond, ok, err := b.source.PublicPart(w, cols); ok && err == nil && also == from && cond == where {
			f.keys = append(f.keys, i)
			done[i] = true
		}
	}
	write := func(e scalar.Expr) string {
		sql, _ := scalar.Native(e, (*scalar.Column).Read, b.source.Inlined()) // a key has no sub-select
		return sql
	}
	f.fold = q.enumerate(b, f.keys, from, where, write)
	b.factors = append(b.factors, f)
}

// inlined writes expressions for the mirror, with the constants in the text.
func (q *Query) inlined(b *block) *scalar.Writer {
	return &scalar.Writer{Env: &scalar.Env{TimeZones: q.cat.TimeZones()}, Fold: b.source.Inlined().SQL}
}

// declaredFactor joins the keys over the same columns with declared values, under the
// conditions on those columns alone. Two columns of a derived table that stand for one
// below it are the same.
func (q *Query) declaredFactor(b *block, first int, done []bool) {
	f := &factor{fold: -1}
	var cols []*scalar.Column
	for grown := true; grown; {
		grown = false
		for i := first; i < len(b.keys); i++ {
			mine := q.leaves(b.keys[i].expr)
			among := func(c *scalar.Column) bool { return contains(cols, c) }
			if done[i] || !q.listable(b.keys[i]) || len(cols) > 0 && !slices.ContainsFunc(mine, among) {
				continue
			}
			done[i], grown = true, true
			f.keys = append(f.keys, i)
			for _, c := range mine {
				if !contains(cols, c) {
					cols = append(cols, c)
				}
			}
		}
	}
	slices.Sort(f.keys)
	conditions := q.conditionsOver(b.source, cols)
	if c, plain := scalar.PlainColumn(b.keys[first].expr); plain && c.Base().Values != nil && len(f.keys) == 1 && len(conditions) == 0 {
		f.rows = declaredRows(c)
	} else {
		f.fold = q.enumerateDeclared(b, f.keys, cols, conditions)
	}
	b.factors = append(b.factors, f)
}

// conditionsOver returns the conditions over no other columns than those, each of this
// level or what one of this level stands for. They hold on every row.
func (q *Query) conditionsOver(s *source.Source, cols []*scalar.Column) []scalar.Expr {
	among := func(c *scalar.Column) bool { return contains(cols, c) }
	return slices.DeleteFunc(s.AllConjuncts(), func(e scalar.Expr) bool {
		used := q.leaves(e)
		return len(used) == 0 || !every(used, among)
	})
}

// contains reports whether one of the columns stands for what c stands for.
func contains(cols []*scalar.Column, c *scalar.Column) bool {
	return slices.ContainsFunc(cols, func(o *scalar.Column) bool { return o.Base() == c.Base() })
}

// declaredRows lists the declared values of a column, and NULL where it can be.
func declaredRows(c *scalar.Column) [][]*string {
	var rows [][]*string
	for i := range c.Base().Values {
		rows = append(rows, []*string{&c.Base().Values[i]})
	}
	if !c.NotNull {
		rows = append(rows, []*string{nil})
	}
	return rows
}

// listOf writes a relation of the values of a column.
func listOf(c *scalar.Column) string {
	if c.Base().Values == nil {
		in := (&scalar.Env{}).Bounds(&scalar.Ref{Column: c.Base()})
		low, high := pgtype.Floor(in.Low), pgtype.Ceil(in.High)
		series := fmt.Sprintf("SELECT CAST(i AS %s) FROM pg_catalog.generate_series(%d, %d) AS i", c.Type.SQL(), low, high)
		if c.Type.OID == pgtype.Date {
			series = fmt.Sprintf("SELECT CAST('2000-01-01' AS pg_catalog.date) + i FROM pg_catalog.generate_series(%d, %d) AS i", low, high)
		}
		if !c.NotNull {
			series += " UNION ALL SELECT NULL"
		}
		return "(" + series + ")"
	}
	var cells []*string
	for _, row := range declaredRows(c) {
		cells = append(cells, row[0])
	}
	return fmt.Sprintf("pg_catalog.unnest(CAST(%s AS %s[]))", ast.Quote(ArrayText(cells)), c.Type.SQL())
}

// enumerateDeclared computes the values of keys on the mirror, over all combinations of
// the declared values of their columns.
func (q *Query) enumerateDeclared(b *block, keys []int, cols []*scalar.Column, conditions []scalar.Expr) int {
	var items []string
	names := map[*scalar.Column]string{}
	for i, c := range cols {
		name := "v" + strconv.Itoa(i+1)
		names[c.Base()] = name + ".x"
		items = append(items, listOf(c)+" AS "+name+"(x)")
	}
	w := &unfolding{constants: b.source.Inlined(), leaf: func(c *scalar.Column) string { return names[c.Base()] }}
	var where []string
	for _, c := range conditions {
		sql, _ := w.write(c)
		where = append(where, sql)
	}
	write := func(e scalar.Expr) string { sql, _ := w.write(e); return sql }
	return q.enumerate(b, keys, strings.Join(items, ", "), strings.Join(where, " AND "), write)
}

// enumerate adds the constant that holds the different values of keys as JSON, in the
// order of their types. A value has one spelling in it, whatever it is combined with: read
// from several, a row would be of several partitions.
func (q *Query) enumerate(b *block, keys []int, from, where string, write func(scalar.Expr) string) int {
	var values, texts, names, results []string
	for n, i := range keys {
		k := b.keys[i]
		name, text := "k"+strconv.Itoa(n+1), "t"+strconv.Itoa(n+1)
		values, names = append(values, write(k.expr)+" AS "+name), append(names, "v."+name)
		spelling := scalar.Enumerated(k.typ, "v."+name)
		if scalar.Respelled(k.typ) {
			spelling = "pg_catalog.min(pg_catalog.min(" + spelling + " COLLATE pg_catalog.\"C\")) OVER (PARTITION BY v." + name + ")"
		}
		texts, results = append(texts, spelling+" AS "+text), append(results, "d."+text)
	}
	if where != "" {
		where = " WHERE " + where
	}
	by := strings.Join(names, ", ")
	sql := fmt.Sprintf("(SELECT CAST(pg_catalog.json_agg(pg_catalog.json_build_array(%s) ORDER BY %s) AS pg_catalog.text) FROM (SELECT %s, %s FROM (SELECT %s FROM %s%s) AS v GROUP BY %s LIMIT %d) AS d)",
		strings.Join(results, ", "), strings.ReplaceAll(by, "v.", "d."), by, strings.Join(texts, ", "), strings.Join(values, ", "), from, where, by, maxGroups+1)
	return q.constants.Add(scalar.Fold{SQL: sql, Type: pgtype.Of(pgtype.Text), At: b.keys[keys[0]].at, Concealed: b.source.Concealing()})
}

// private reports whether a key surely has no public values: then rows are read even
// without aggregates. It errs on the side of private.
func (b *block) private() bool {
	known := 0
	for _, f := range b.factors {
		known += len(f.keys)
	}
	return known < len(b.keys)
}

// A list is the public values of some keys of a grouping set.
type list struct {
	keys []int // as the factor has them
	rows [][]*string
	// elements are the different values of each key, without NULL, in order of
	// appearance: what the read numbers them by. index finds a row by those numbers.
	elements [][]*string
	arrays   []string // the elements as arrays of Postgres
	numbers  []map[string]int
	null     []bool
	index    map[string]int
}

// domains keeps the public values of keys: grouping sets with the same keys share them.
type domains struct {
	factors map[*factor][][]*string
	lists   map[string]*list // by their keys; nil of private ones
}

// lists returns the public values of the keys in the set, or ok false if one of them
// is private.
func (sp *specializer) lists(set []int) (lists []*list, ok bool, err error) {
	b := sp.b
	for _, f := range b.factors {
		keys := slices.DeleteFunc(slices.Clone(f.keys), func(k int) bool { return !slices.Contains(set, k) })
		if len(keys) == 0 {
			continue
		}
		l, err := sp.shared(keys, func() ([][]*string, bool, error) {
			rows, err := sp.rowsOf(f, keys)
			return rows, true, err
		})
		if err != nil {
			return nil, false, err
		}
		lists = append(lists, l)
	}
	for _, i := range set {
		if slices.ContainsFunc(b.factors, func(f *factor) bool { return slices.Contains(f.keys, i) }) {
			continue
		}
		l, err := sp.shared([]int{i}, func() ([][]*string, bool, error) {
			rows, finite := sp.finite(b.keys[i])
			return rows, finite, nil
		})
		if l == nil || err != nil {
			return nil, false, err
		}
		lists = append(lists, l)
	}
	return lists, true, nil
}

// shared returns the list of the keys, made of their rows at the first time; nil if they are
// private.
func (sp *specializer) shared(keys []int, rows func() (rows [][]*string, public bool, err error)) (*list, error) {
	id := ordinals(keys)
	l, have := sp.domains.lists[id]
	if have {
		return l, nil
	}
	values, public, err := rows()
	if err != nil {
		return nil, err
	}
	if public {
		l = newList(keys, values)
	}
	sp.domains.lists[id] = l
	return l, nil
}

// rowsOf returns the rows of a factor, restricted to some of its keys.
func (sp *specializer) rowsOf(f *factor, keys []int) ([][]*string, error) {
	rows, err := sp.factorRows(f)
	if err != nil || len(keys) == len(f.keys) {
		return rows, err
	}
	restricted := make([][]*string, len(rows))
	for n, row := range rows {
		for i, k := range f.keys {
			if slices.Contains(keys, k) {
				restricted[n] = append(restricted[n], row[i])
			}
		}
	}
	return restricted, nil
}

func (sp *specializer) factorRows(f *factor) ([][]*string, error) {
	if f.fold < 0 {
		return f.rows, nil
	}
	if rows, have := sp.domains.factors[f]; have {
		return rows, nil
	}
	rows, err := sp.enumerated(f)
	sp.domains.factors[f] = rows
	return rows, err
}

// enumerated reads what the mirror has enumerated.
func (sp *specializer) enumerated(f *factor) ([][]*string, error) {
	var rows [][]*string
	text := sp.env.Values[f.fold].Bytes
	if text == nil {
		return nil, nil
	}
	at := sp.b.keys[f.keys[0]].at
	if err := json.Unmarshal(text, &rows); err != nil || !sp.spell(f, rows) {
		return nil, pgerr.New(pgerr.Internal, "the values of a grouping key cannot be read").At(at)
	}
	if len(rows) > maxGroups {
		return nil, tooManyGroups(at)
	}
	return rows, nil
}

// spell turns what was enumerated into texts that every session reads alike.
func (sp *specializer) spell(f *factor, rows [][]*string) bool {
	for _, row := range rows {
		if len(row) != len(f.keys) {
			return false
		}
		for i, cell := range row {
			if cell == nil {
				continue
			}
			text, ok := scalar.EnumeratedText(sp.b.keys[f.keys[i]].typ, *cell)
			if !ok {
				return false
			}
			row[i] = &text
		}
	}
	return true
}

func tooManyGroups(at int) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the statement has more than %d groups", maxGroups).At(at).
		WithHint("Group by fewer columns, or restrict them in WHERE.")
}

// finite lists the values of a key that its bounds tell, NULL last.
func (sp *specializer) finite(k *key) ([][]*string, bool) {
	texts, null, ok := sp.env.Enumerate(k.expr, sp.b.source.Conjuncts(), maxFinite)
	if !ok {
		return nil, false
	}
	var rows [][]*string
	for i := range texts {
		rows = append(rows, []*string{&texts[i]})
	}
	if null {
		rows = append(rows, []*string{nil})
	}
	return rows, true
}

// maxFinite bounds the values that bounds tell of one key: more are better told by
// partition selection.
const maxFinite = 2000

// newList makes a list of rows, each once.
func newList(keys []int, rows [][]*string) *list {
	l := &list{keys: keys, index: map[string]int{}, elements: make([][]*string, len(keys)), null: make([]bool, len(keys))}
	for range keys {
		l.numbers = append(l.numbers, map[string]int{})
	}
	for _, row := range rows {
		numbers := make([]int, len(keys))
		for i, cell := range row {
			numbers[i] = l.number(i, cell)
		}
		id := ordinals(numbers)
		if _, have := l.index[id]; !have {
			l.index[id] = len(l.rows)
			l.rows = append(l.rows, row)
		}
	}
	for _, elements := range l.elements {
		l.arrays = append(l.arrays, ArrayText(elements))
	}
	return l
}

// number returns the number of a value of key i, which it gets at its first
// appearance: 1, 2, ..., and 0 for NULL.
func (l *list) number(i int, cell *string) int {
	if cell == nil {
		l.null[i] = true
		return 0
	}
	n, have := l.numbers[i][*cell]
	if !have {
		l.elements[i] = append(l.elements[i], cell)
		n = len(l.elements[i])
		l.numbers[i][*cell] = n
	}
	return n
}

func ordinals(numbers []int) string { return fmt.Sprint(numbers) }
