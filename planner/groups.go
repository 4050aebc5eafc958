package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
	"dpproxy/planner/sqltext"
	"dpproxy/planner/work"
)

// An enumeration finds the keys over public tables, whose values the mirror has. Any other key has public values if the mirror lists them
// (lists.go), and is private otherwise.
type enumeration struct {
	keys      []*key
	source    *source.Source
	constants *scalar.Constants
	timeZones map[string]bool
	work      *work.Meter

	factors []*factor
	done    []bool // keys that are in a factor
}

// run fills the factors.
func (en *enumeration) run() error {
	en.done = make([]bool, len(en.keys))
	for i, k := range en.keys {
		if en.done[i] {
			continue
		}
		cols := k.expr.Columns()
		switch {
		case len(cols) == 0:
			continue
		case every(cols, en.source.ShowsPublic):
			if !en.shares(cols) {
				en.publicFactor(i)
			}
		default:
			en.declaredFactor(i)
		}
	}
	return en.refusePrivateKeys()
}

// shares reports whether another key is over public relations of these columns and over others: the mirror lists them together later.
func (en *enumeration) shares(cols []*scalar.Column) bool {
	if most, known := en.source.MostRows(cols); !known || most > maxShared || en.source.DeclaresKeys() {
		return false
	}
	parts := en.source.PartsOf(cols)
	return slices.ContainsFunc(en.keys, func(k *key) bool {
		of := k.expr.Columns()
		return !every(of, en.source.ShowsPublic) && slices.ContainsFunc(en.source.PartsOf(of), func(c *scalar.Column) bool {
			return slices.Contains(parts, c)
		})
	})
}

// maxShared bounds the public rows that are listed with values of other columns.
const maxShared = 5000

// declaredFactor is the declared values of a column, and NULL if the column can be NULL, if nothing else in the statement is about it.
func (en *enumeration) declaredFactor(key int) {
	c, plain := scalar.PlainColumn(en.keys[key].expr)
	if !plain || c.Base().Values == nil || len(en.source.ListsOf(c)) > 0 {
		return
	}
	uses := func(e scalar.Expr) bool { return slices.Contains(scalar.Bases(e), c.Base()) }
	for i, k := range en.keys {
		if i != key && uses(k.expr) {
			return
		}
	}
	where := en.source.AllConjuncts()
	if slices.ContainsFunc(where, uses) {
		return
	}
	f := &factor{keys: []int{key}, fold: -1}
	for i := range c.Base().Values {
		f.rows = append(f.rows, []*string{&c.Base().Values[i]})
	}
	if !scalar.NeverNullColumn(where, c) {
		f.rows = append(f.rows, []*string{nil})
	}
	en.done[key], en.factors = true, append(en.factors, f)
}

// refusePrivateKeys refuses private keys if a public table has to declare the keys.
func (en *enumeration) refusePrivateKeys() error {
	if !en.source.DeclaresKeys() {
		return nil
	}
	for i, k := range en.keys {
		known := slices.ContainsFunc(en.factors, func(f *factor) bool { return slices.Contains(f.keys, i) })
		if !known || !every(k.expr.Columns(), en.source.IsPublic) {
			return pgerr.New(pgerr.Ownership, "a public table that is joined with LEFT JOIN declares the groups: this key is not of it").
				At(k.at).
				WithHint("Group by columns of the public table, or use an inner join.")
		}
	}
	return nil
}

func every(cols []*scalar.Column, f func(*scalar.Column) bool) bool {
	return !slices.ContainsFunc(cols, func(c *scalar.Column) bool { return !f(c) })
}

// publicFactor joins the keys over the same public relations.
func (en *enumeration) publicFactor(first int) {
	cols, f := en.keys[first].expr.Columns(), &factor{fold: -1}
	all := cols
	for i := first; i < len(en.keys); i++ {
		mine := en.keys[i].expr.Columns()
		if !en.done[i] && len(mine) > 0 && en.source.SharesPublicPart(cols, mine) {
			f.keys, all, en.done[i] = append(f.keys, i), slices.Concat(all, mine), true
		}
	}
	w := en.inlined()
	part, ok, err := en.source.PublicPart(w, en.source.Inlined(), all)
	if !ok || err != nil {
		for _, k := range f.keys {
			en.done[k] = k <= first
		}
		return
	}
	f.declared = part.Declared
	d, err := publicKeys(en.keys, f.keys, part, w, en.source.Inlined())
	if f.later = err != nil || part.Later; !f.later {
		f.fold = en.constants.Add(scalar.Fold{
			SQL: d.text(""), Type: pgtype.Of(pgtype.Text), At: en.keys[first].at, Concealed: en.source.Concealing(), Derived: true,
		})
	}
	f.types, en.factors = d.types, append(en.factors, f)
}

// publicKeys selects the values that keys have together over public relations. A key is written as the client meant it, or, over columns
// that are identical to public ones, as it is written for the protected database, which never raises. That may need the values of
// constants: the last error says so, and such a key has no type.
func publicKeys(keys []*key, list []int, part source.PublicPart, w *scalar.Writer, constants scalar.Inlined) (d different, last error) {
	d = different{from: part.From, where: []string{part.Where}}
	own := *w
	own.Renamed = part.Renamed
	for _, i := range list {
		k := keys[i]
		sql, _ := scalar.Native(k.expr, (*scalar.Column).Read, constants) // a key has no sub-select
		typ := k.typ
		if c, plain := scalar.PlainColumn(k.expr); plain && part.Renamed[c] != nil {
			sql = part.Renamed[c].Read()
		} else if renames(part, k.expr) {
			var err error
			if sql, typ, err = own.Key(k.expr); err != nil {
				typ, last = pgtype.Type{}, err
			}
		}
		d.keys, d.types = append(d.keys, sql), append(d.types, typ)
	}
	return d, last
}

func renames(part source.PublicPart, e scalar.Expr) bool {
	return slices.ContainsFunc(e.Columns(), func(c *scalar.Column) bool { return part.Renamed[c] != nil })
}

// inlined writes expressions for the mirror, with the constants in the text.
func (en *enumeration) inlined() *scalar.Writer {
	return &scalar.Writer{Env: &scalar.Env{TimeZones: en.timeZones, Work: en.work}, Fold: en.source.Inlined().SQL}
}

// different is the different values that keys have together.
type different struct {
	keys  []string
	types []pgtype.Type
	from  string
	where []string
}

func fromSQL(items []string) string { return cmp.Or(strings.Join(items, ", "), "(SELECT) AS z") }

// text writes the values as JSON behind a mark, in the order of their types. It is empty if they take too many bytes, and NULL without a
// mark if there are none. Each value has one spelling in it, whatever it is combined with: otherwise a row would belong to several
// partitions.
func (d different) text(mark string) string {
	var order, texts []string
	for n := range d.keys {
		order, texts = append(order, sqltext.Of("d", sqltext.Key(n))), append(texts, sqltext.Of("d", enumeratedText(n)))
	}
	array := "pg_catalog.json_build_array(" + strings.Join(texts, ", ") + ")"
	list := "CAST(pg_catalog.json_agg(" + array + " ORDER BY " + strings.Join(order, ", ") + ") AS pg_catalog.text)"
	size := "pg_catalog.sum(pg_catalog.octet_length(pg_catalog.concat(" + strings.Join(texts, ", ") + ")))"
	if mark != "" {
		list = ast.Quote(mark) + " OPERATOR(pg_catalog.||) COALESCE(" + list + ", '[]')"
	}
	return "(" + (&sqltext.Select{
		Columns: []sqltext.Column{{SQL: fmt.Sprintf("CASE WHEN %s > %d THEN '' ELSE %s END", size, maxListBytes, list)}},
		From:    &sqltext.Query{Select: d.rows(), As: "d"},
	}).SQL() + ")"
}

func enumeratedText(n int) string { return "t" + strconv.Itoa(n+1) }

// rows selects the values, and their texts.
func (d different) rows() *sqltext.Select {
	values := &sqltext.Select{From: &sqltext.Table{SQL: d.from}, Where: d.where}
	q := &sqltext.Select{From: &sqltext.Query{Select: values, As: "v"}, Limit: maxGroups + 1}
	var texts []sqltext.Column
	for n, key := range d.keys {
		values.Columns = append(values.Columns, sqltext.Column{SQL: key, As: sqltext.Key(n)})
		value := sqltext.Of("v", sqltext.Key(n))
		text := scalar.Enumerated(d.types[n], value)
		if scalar.Respelled(d.types[n]) {
			text = "pg_catalog.min(pg_catalog.min(" + text + " COLLATE pg_catalog.\"C\")) OVER (PARTITION BY " + value + ")"
		}
		q.GroupBy, texts = append(q.GroupBy, value), append(texts, sqltext.Column{SQL: text, As: enumeratedText(n)})
	}
	q.Columns = append(sqltext.Columns("", q.GroupBy...), texts...)
	return q
}
