package scalar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A Listing computes, on the mirror, the values that keys can have together in rows that meet conditions: the keys of the values that their
// sources can have. It is a function of the policy, of constants, and of public rows alone.
//
// A source is a column of a table, or an expression whose values are in a row. Its values are those that the policy declares, or those
// within its bounds; of these only one of each cell is needed, such that keys and conditions have a single value in a cell. Keys and
// conditions are written as they are written for the protected database. So each row whose columns have declared values, or are within
// their bounds, has its keys among those that are listed.
type Listing struct {
	// Keys are the keys over the relations of From, in their types; Where are conditions.
	Keys  []string
	Types []pgtype.Type
	From  []string
	Where []string
	// Implied says that bounds imply the values of a source: the policy does not declare each of them.
	Implied bool
}

// A Lister makes listings, for known constants.
type Lister struct {
	Env *Env
	// Fold writes the value of a constant.
	Fold func(int) string
	// Lists are constant arrays in each of which the value of a column is.
	Lists func(*Column) []Expr
	// Array writes texts as an array.
	Array func([]*string) string
	// Public tells of columns that show values of public relations; it may be nil.
	Public Publics
}

// List returns the listing of keys in rows that meet all conditions; ok is false if some source has no list, or too long a list.
func (m *Lister) List(keys, where []Expr) (out *Listing, ok bool) {
	var before *combination
	for at := ofTables; at < depths; at++ {
		for _, conditions := range [][]Expr{where, nil} {
			l := &combination{Lister: m, where: where, at: at}
			if !l.find(keys) || before != nil && conditions != nil && l.sameSources(before) {
				break
			}
			if l.restrict(conditions); l.size(keys) {
				if conditions == nil && before != nil {
					l = l.among(before.conditions, keys)
				}
				return l.written(keys)
			}
			if before = l; len(l.conditions) == 0 {
				break
			}
		}
	}
	return nil, false
}

// among returns the combination under some of several conditions, together with which there are too many values: one after the other, those
// with which there are few.
func (l *combination) among(conditions, keys []Expr) *combination {
	if len(conditions) < 2 || len(conditions) > mostTried {
		return l
	}
	for _, c := range conditions {
		next := &combination{Lister: l.Lister, where: l.where, at: l.at}
		next.find(keys)
		if next.conditions = append(slices.Clip(l.conditions), c); next.size(keys) {
			l = next
		}
	}
	return l
}

// mostTried bounds the conditions that are tried one by one.
const mostTried = 8

// A combination is the values of sources, each with each.
type combination struct {
	*Lister
	where      []Expr
	conditions []Expr // those over the sources alone
	at         depth
	few        int64 // values that are listed without a look for cells
	sources    []*source
	implied    bool
	inRows     *Env // of rows that meet the conditions
	depth      int
	// found and covered are what is known of columns of derived tables, which can double an expression at each level.
	found, covered map[*Column]bool
}

// maxBranches bounds the derived tables within derived tables whose values are listed.
const maxBranches = 8

// find finds the sources of all keys.
func (l *combination) find(keys []Expr) bool {
	return !slices.ContainsFunc(keys, func(e Expr) bool { return !l.add(e) })
}

func (l *combination) note(x, called Expr) {
	if l.inRows == nil {
		l.inRows = l.Env.inner(l.Env.narrowing(l.where, true))
	}
	null := mayBeNull(l.inRows, called) && !NeverNull(l.where, called)
	if ref, plain := called.(*Ref); plain {
		null = null && !NeverNullColumn(l.where, ref.Column)
	}
	for _, s := range l.sources {
		if s.is(x) {
			s.null = s.null || null
			return
		}
	}
	l.sources = append(l.sources, &source{x: x, called: called, null: null})
}

// source returns the source that an expression is; nil if it is none.
func (l *combination) source(e Expr) *source {
	i := slices.IndexFunc(l.sources, func(s *source) bool { return s.is(e) })
	if i < 0 {
		return nil
	}
	return l.sources[i]
}

// sameSources reports whether another combination has the same sources.
func (l *combination) sameSources(o *combination) bool {
	return len(l.sources) == len(o.sources) && !slices.ContainsFunc(l.sources, func(s *source) bool {
		return !slices.ContainsFunc(o.sources, func(of *source) bool { return s.part == of.part && (s.part != nil || of.is(s.x)) })
	})
}

// size lists the values of all sources, and reports whether their combinations are few enough. Values of which there are few are listed
// without a look for cells, unless there are too many combinations then.
func (l *combination) size(keys []Expr) bool {
	over := slices.Concat(keys, l.conditions)
	for _, l.few = range []int64{fewListed, 0} {
		fits, listed := l.fit(over)
		if fits || !listed || !slices.ContainsFunc(l.sources, func(s *source) bool { return s.uncut }) {
			return fits
		}
	}
	return false
}

// fit is size for one size of lists without cells; listed says that each source has a list by itself. Of several sources one alone can have
// more than manyCells cells.
func (l *combination) fit(over []Expr) (fits, listed bool) {
	product, cells := int64(1), mostCells
	if len(l.sources) > 1 {
		cells = manyCells
	}
	var long *source
	for _, s := range l.sources {
		switch ok := l.list(s, over, cells); {
		case !ok && s.long && long == nil:
			long = s
			continue
		case !ok:
			return false, false
		}
		if product = saturated(product, max(s.count, 1)); product > mostListed && l.few == 0 {
			return false, true
		}
	}
	if long != nil && product <= mostListed {
		if !l.list(long, over, int(min(mostCells, mostListed/product))) {
			return false, long.long
		}
		product = saturated(product, max(long.count, 1))
	}
	return product <= mostListed, true
}

// list lists the values of a source in so many cells at most, unless it is known how that ends.
func (l *combination) list(s *source, over []Expr, cells int) (ok bool) {
	switch {
	case s.from != "" && !s.uncut:
		return true
	case s.long && cells <= s.cells:
		return false
	}
	s.from, s.count, s.long, s.uncut, s.cells = "", 0, false, false, cells
	if ok = l.values(s, over); !ok {
		s.from = ""
	}
	return ok
}

// saturated multiplies numbers whose product matters only up to mostListed.
func saturated(a, b int64) int64 {
	if b > mostListed {
		return mostListed + 1
	}
	return min(a*b, mostListed+1)
}

// values lists the values of a source.
func (l *combination) values(s *source, over []Expr) bool {
	if s.part != nil {
		sql, most, ok := l.Public.Rows(s.rows)
		s.from, s.count = "("+sql+")", most
		return ok && most <= mostListed
	}
	if a, ofRows := s.x.(*aggregate); ofRows && a.picks() && l.picked(s, a) {
		return true
	}
	ref, plain := s.x.(*Ref)
	if !plain && s.x.Type().OID == pgtype.Bool {
		l.texts(s, boolTexts(l.Env.narrowedToList(s.called, l.where)))
		return true
	}
	if !plain {
		return l.row(s, over)
	}
	c := ref.Column
	switch {
	case len(c.Of) > 0:
		return l.branches(s, c) || l.row(s, over)
	case c.Values != nil:
		s.whole = true
		l.texts(s, c.Values)
		return true
	case c.Type.OID == pgtype.Bool && !c.Type.Array:
		l.texts(s, []string{"false", "true"})
		return true
	case c.List != nil:
		return l.constants(s, c.List)
	case c.Among != nil && c.Among.Rows < mostListed:
		s.whole = true
		l.keyed(s, c)
		return true
	case l.row(s, over):
		return true
	}
	for _, list := range l.lists(c) {
		if l.constants(s, list) {
			return true
		}
	}
	return false
}

func (l *combination) lists(c *Column) []Expr {
	if l.Lists == nil {
		return nil
	}
	return l.Lists(c)
}

// texts lists texts.
func (l *combination) texts(s *source, list []string) {
	cells := make([]*string, 0, len(list)+1)
	for i := range list {
		cells = append(cells, &list[i])
	}
	if s.null {
		cells = append(cells, nil)
	}
	s.count = int64(len(cells))
	t := l.typeOf(s)
	of := t.SQL()
	if t.OID == pgtype.Bpchar { // octet_length() counts its blanks
		of = t.Modified()
	}
	s.from = "pg_catalog.unnest(CAST(" + ast.Quote(l.Array(cells)) + " AS " + of + "[]))"
}

// typeOf is the type in which the mirror has the values of a source.
func (l *combination) typeOf(s *source) pgtype.Type {
	if ref, plain := s.x.(*Ref); plain && !ref.Column.derived() {
		return s.x.Type()
	}
	return l.Env.physical(s.x)
}

// keyed lists the values of a public key, of those that the policy declares if it declares some.
func (l *combination) keyed(s *source, c *Column) {
	key := c.Among
	x := KeyAs(key, c.Type)
	s.count, s.from = key.Rows+1, "(SELECT "+x+" FROM "+key.From+" WHERE "+x+" IS NOT NULL"
	if declared := DeclaredSQL(c, x); declared != "" {
		s.from += " AND " + declared
	}
	if s.null {
		s.from += " UNION ALL SELECT NULL"
	}
	s.from += ")"
}

// constants lists the elements of a constant array.
func (l *combination) constants(s *source, list Expr) bool {
	array, ok := list.(*constant)
	if !ok || l.Env.Unsettled(array) {
		return false
	}
	s.count = l.Env.elements(array) + 1
	if s.count > mostListed {
		return false
	}
	s.from = "(SELECT x FROM pg_catalog.unnest(" + castSQL(l.Fold(array.fold), array.typ) + ") AS x"
	if s.null {
		s.from += " UNION ALL SELECT NULL"
	}
	s.from += ")"
	return true
}

// row lists values within bounds, or one of each cell.
func (l *combination) row(s *source, over []Expr) bool {
	line, ok := lineOfSource(l.Env, s.called, l.where)
	if !ok {
		return false
	}
	plain := func(e Expr) bool { return s.is(e) || Equal(s.called, e) }
	if a, ok := s.x.(*aggregate); ok && accumulates(a) && slices.ContainsFunc(over, plain) {
		if _, few := line.count(mostCounted); !few {
			return false
		}
	}
	l.implied = true
	if line.empty() {
		l.texts(s, nil)
		return true
	}
	line.clock = l.clock(over)
	g := l.grid(s, line, over)

	texts, ok := g.values()
	if s.long, s.uncut = g.long, g.uncut; !ok {
		return false
	}
	if n, _ := line.count(mostListed); int64(len(texts)) == n && n > fewListed && (line.typ.Whole() || line.typ.OID == pgtype.Date) {
		l.series(s, line, n)
		return true
	}
	l.texts(s, texts)
	return true
}

// grid makes the gridding of a source.
func (l *combination) grid(s *source, on line, over []Expr) *gridding {
	g := &gridding{
		env: l.Env, source: s.x, line: on, uses: map[Expr]bool{}, arrays: map[int]map[string]bool{}, few: l.few,
		most: s.cells,
	}
	for _, other := range l.sources {
		if other != s && other.part == nil {
			g.others = append(g.others, other.x)
		}
	}
	settle := &settling{source: s.x, others: g.others, uses: g.uses}
	for _, e := range over {
		if settle.used(e) {
			g.over = append(g.over, e)
		}
	}
	if ref, plain := s.x.(*Ref); plain && !ref.Column.derived() {
		g.loose = on.typ.Decimal() && on.typ.Scale() < 0
	}
	g.spelled = on.typ.Decimal() && !OneSpelling(s.x)
	return g
}

// series lists whole numbers or days.
func (l *combination) series(s *source, line line, n int64) {
	t := l.typeOf(s)
	x := "CAST(i AS " + t.SQL() + ")"
	if t.OID == pgtype.Date {
		x = "CAST('2000-01-01' AS pg_catalog.date) OPERATOR(pg_catalog.+) i"
	}
	s.from = fmt.Sprintf("(SELECT %s FROM pg_catalog.generate_series(%s, %s) AS i", x, line.low.Num(), line.high.Num())
	if s.null {
		s.from += " UNION ALL SELECT NULL"
	}
	s.count, s.from = n+1, s.from+")"
}

// branches lists the values of a column that the branches of a derived table compute.
func (l *combination) branches(s *source, c *Column) bool {
	var parts []string
	for k, e := range c.Of {
		part, ok := l.below(s, e, func(w *Writer) (string, error) { return w.Target(c, k) })
		if !ok {
			return false
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return l.union(s, parts)
}

// picked lists the values of an aggregate that is one of the values of its rows.
func (l *combination) picked(s *source, a *aggregate) bool {
	if a.typ.Number() || a.typ.Dated() {
		return false
	}
	part, ok := l.below(s, a.x, func(w *Writer) (string, error) { return w.Expr(a.x) })
	return ok && l.union(s, []string{part})
}

// below selects the values of an expression of a derived table, for a source.
func (l *combination) below(s *source, e Expr, write func(*Writer) (string, error)) (sql string, ok bool) {
	sub := &combination{Lister: l.Lister, depth: l.depth + 1}
	if sub.depth > maxBranches || !sub.add(e) || !sub.size([]Expr{e}) {
		return "", false
	}
	w := sub.writer()
	if !sub.rename(w, e) {
		return "", false
	}
	sql, err := write(w)
	s.count += sub.product()
	l.implied = l.implied || sub.implied
	return "SELECT " + castSQL(sql, l.typeOf(s)) + sub.fromSQL(), err == nil
}

// union lists the values of all parts. Of equal values in different spellings it keeps each.
func (l *combination) union(s *source, parts []string) bool {
	if s.null {
		parts, s.count = append(parts, "SELECT "+castSQL("NULL", l.typeOf(s))), s.count+1
	}
	union := " UNION "
	if Respelled(l.typeOf(s)) {
		union = " UNION ALL "
	}
	s.from = "(" + strings.Join(parts, union) + ")"
	return s.count <= mostListed
}

func (l *combination) product() int64 {
	n := int64(1)
	for _, s := range l.sources {
		n *= max(s.count, 1)
	}
	return n
}

func (l *combination) fromSQL() string {
	if len(l.sources) == 0 {
		return ""
	}
	from := make([]string, len(l.sources))
	for i, s := range l.sources {
		from[i] = s.as(i)
	}
	return " FROM " + strings.Join(from, ", ")
}

// written writes keys and conditions over the sources.
func (l *combination) written(keys []Expr) (*Listing, bool) {
	w, out := l.writer(), &Listing{Implied: l.implied}
	for _, e := range slices.Concat(keys, l.conditions) {
		if !l.rename(w, e) {
			return nil, false
		}
	}
	for _, e := range keys {
		sql, t, err := w.Key(e)
		if err != nil {
			return nil, false
		}
		out.Keys, out.Types = append(out.Keys, sql), append(out.Types, t)
	}
	for _, e := range l.conditions {
		if sql, err := w.Expr(e); err == nil {
			out.Where = append(out.Where, sql)
		}
	}
	out.Where = append(out.Where, l.asked(w)...)
	for i, s := range l.sources {
		out.From = append(out.From, s.as(i))
		if ref, plain := s.x.(*Ref); plain {
			for _, list := range l.lists(ref.Column) {
				if array, ok := list.(*constant); ok && !l.Env.Unsettled(array) {
					out.Where = append(out.Where,
						valuesName(i)+".x OPERATOR(pg_catalog.=) ANY ("+castSQL(l.Fold(array.fold), array.typ)+")")
				}
			}
		}
	}
	return out, true
}

// writer writes expressions over the values of the sources.
func (l *combination) writer() *Writer {
	w := &Writer{Env: l.Env, Fold: l.Fold, Renamed: map[*Column]*Column{}}
	for i, s := range l.sources {
		if _, plain := s.x.(*Ref); plain || s.part != nil {
			continue
		}
		f := fragment{sql: valuesName(i) + ".x", typ: l.typeOf(s)}
		w.groupings = append(w.groupings, grouping{s.x, f})
		if b, ok := s.x.(*bounded); ok { // a key is written without its bounds
			w.groupings = append(w.groupings, grouping{b.x, f})
		}
	}
	return w
}

// rename has the writer take columns from the sources, and compute those that derived tables compute of them.
func (l *combination) rename(w *Writer, e Expr) bool {
	if _, plain := e.(*Ref); !plain && l.source(e) != nil {
		return true
	}
	ref, ok := e.(*Ref)
	if !ok {
		return !slices.ContainsFunc(operands(e), func(o Expr) bool { return !l.rename(w, o) })
	}
	if w.Renamed[ref.Column] != nil {
		return true
	}
	renamed := *ref.Column
	base := ref.Column.Base()
	if i := slices.IndexFunc(l.sources, func(s *source) bool { return s.is(ref) }); i >= 0 {
		name := ".x"
		if s := l.sources[i]; s.part != nil {
			name, renamed.Reach = ".c"+strconv.Itoa(slices.Index(s.rows, ref.Column)+1), Whole
		}
		renamed.SQL = collated(valuesName(i)+name, base.Type)
		w.Renamed[ref.Column] = &renamed
		return true
	}
	below := ref.Column.computed()
	if below == nil || !l.rename(w, below) {
		return false
	}
	sql, err := w.Target(base, 0)
	if err != nil || len(sql) > maxUnfolded {
		return false
	}
	renamed.SQL = "(" + sql + ")"
	w.Renamed[ref.Column] = &renamed
	return true
}

// maxUnfolded bounds the text of a column that derived tables compute from one another, each of which can double it.
const maxUnfolded = 1 << 15

func collated(sql string, t pgtype.Type) string {
	if t.Collation.Name == "" {
		return sql
	}
	return "(" + sql + " COLLATE " + ast.QuoteIdent(t.Collation.Schema) + "." + ast.QuoteIdent(t.Collation.Name) + ")"
}

// Listed reports whether an expression surely has a listing: it is computed from columns whose values are declared.
func Listed(e Expr) bool {
	product := 1
	for _, c := range Bases(e) {
		switch {
		case len(c.Of) > 0:
			return false
		case c.Values != nil:
			product *= len(c.Values) + 1
		case c.Type.OID == pgtype.Bool && !c.Type.Array:
			product *= 3
		default:
			return false
		}
		if product > mostListed {
			return false
		}
	}
	return OfOneRow(e)
}
