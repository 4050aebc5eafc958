package planner

import (
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

// An enumeration finds the keys of a block with known public values: keys over columns with declared values, and keys over public tables.
// Any other key has public values if its bounds imply them (domains.lists), and is private otherwise.
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
			en.publicFactor(i)
		case en.listable(k):
			en.declaredFactor(i)
		}
	}
	return en.refusePrivateKeys()
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

// declared reports whether the values of a column can be listed: they are declared, or are whole numbers or dates within bounds.
func declared(c *scalar.Column) bool { return c.Base().Values != nil || spanOf(c.Base()) > 0 }

// spanOf returns the number of whole numbers or dates within the bounds of a column; 0 for other columns, and for columns with too many.
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

// maxListed bounds the values of a column, and the combinations of values of several columns, from which the mirror computes keys.
const maxListed = 50_000

// listable reports whether the mirror can list the values of a key: an expression over columns that together have few values, and not the
// beginning of a period in the session's time zone.
func (en *enumeration) listable(k *key) bool {
	cols := en.leaves(k.expr)
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
func (en *enumeration) publicFactor(first int) {
	w := en.inlined()
	from, where, ok, err := en.source.PublicPart(w, en.keys[first].expr.Columns())
	if !ok || err != nil {
		return
	}
	f := &factor{}
	for i := first; i < len(en.keys); i++ {
		cols := en.keys[i].expr.Columns()
		if en.done[i] || len(cols) == 0 || !every(cols, en.source.ShowsPublic) {
			continue
		}
		if also, cond, ok, err := en.source.PublicPart(w, cols); ok && err == nil && also == from && cond == where {
			f.keys = append(f.keys, i)
			en.done[i] = true
		}
	}
	write := func(e scalar.Expr) string {
		sql, _ := scalar.Native(e, (*scalar.Column).Read, en.source.Inlined()) // a key has no sub-select
		return sql
	}
	f.fold = en.enumerate(f.keys, from, where, write)
	en.factors = append(en.factors, f)
}

// inlined writes expressions for the mirror, with the constants in the text.
func (en *enumeration) inlined() *scalar.Writer {
	return &scalar.Writer{Env: &scalar.Env{TimeZones: en.timeZones, Work: en.work}, Fold: en.source.Inlined().SQL}
}

// declaredFactor joins the keys over the same columns with declared values, under the conditions on these columns alone. Columns of derived
// tables are the same if their base columns are.
func (en *enumeration) declaredFactor(first int) {
	f := &factor{fold: -1}
	var cols []*scalar.Column
	for grown := true; grown; {
		grown = false
		for i := first; i < len(en.keys); i++ {
			mine := en.leaves(en.keys[i].expr)
			among := func(c *scalar.Column) bool { return contains(cols, c) }
			if en.done[i] || !en.listable(en.keys[i]) || len(cols) > 0 && !slices.ContainsFunc(mine, among) {
				continue
			}
			en.done[i], grown = true, true
			f.keys = append(f.keys, i)
			for _, c := range mine {
				if !contains(cols, c) {
					cols = append(cols, c)
				}
			}
		}
	}
	slices.Sort(f.keys)
	conditions := en.conditionsOver(cols)
	listed := func(c *scalar.Column) bool { return len(en.source.ListsOf(c)) > 0 }
	all := len(conditions) == 0 && !slices.ContainsFunc(cols, listed)
	if c, plain := scalar.PlainColumn(en.keys[first].expr); plain && c.Base().Values != nil && len(f.keys) == 1 && all {
		f.rows = en.declaredRows(c)
	} else {
		f.fold = en.enumerateDeclared(f.keys, cols, conditions)
	}
	en.factors = append(en.factors, f)
}

// conditionsOver returns the conditions that use only the given columns, at this level or below. They hold for every row.
func (en *enumeration) conditionsOver(cols []*scalar.Column) []scalar.Expr {
	among := func(c *scalar.Column) bool { return contains(cols, c) }
	return slices.DeleteFunc(en.source.AllConjuncts(), func(e scalar.Expr) bool {
		used := en.leaves(e)
		return len(used) == 0 || !every(used, among)
	})
}

// declaredRows lists the declared values of a column, and NULL if the column can be NULL.
func (en *enumeration) declaredRows(c *scalar.Column) [][]*string {
	var rows [][]*string
	for i := range c.Base().Values {
		rows = append(rows, []*string{&c.Base().Values[i]})
	}
	if en.nullable(c) {
		rows = append(rows, []*string{nil})
	}
	return rows
}

// nullable reports whether a column can be NULL in rows for which all conditions are true.
func (en *enumeration) nullable(c *scalar.Column) bool {
	return !scalar.NeverNullColumn(en.source.AllConjuncts(), c)
}

// listOf writes a relation of the values of a column.
func (en *enumeration) listOf(c *scalar.Column) string {
	if c.Base().Values == nil {
		in := (&scalar.Env{}).Bounds(&scalar.Ref{Column: c.Base()})
		low, high := pgtype.Floor(in.Low), pgtype.Ceil(in.High)
		series := fmt.Sprintf("SELECT CAST(i AS %s) FROM pg_catalog.generate_series(%d, %d) AS i", c.Type.SQL(), low, high)
		if c.Type.OID == pgtype.Date {
			series = fmt.Sprintf("SELECT CAST('2000-01-01' AS pg_catalog.date) + i FROM pg_catalog.generate_series(%d, %d) AS i", low, high)
		}
		if en.nullable(c) {
			series += " UNION ALL SELECT NULL"
		}
		return "(" + series + ")"
	}
	var cells []*string
	for _, row := range en.declaredRows(c) {
		cells = append(cells, row[0])
	}
	return fmt.Sprintf("pg_catalog.unnest(CAST(%s AS %s[]))", ast.Quote(ArrayText(cells)), c.Type.SQL())
}

// enumerateDeclared computes the values of keys on the mirror, over all combinations of the declared values of their columns.
func (en *enumeration) enumerateDeclared(keys []int, cols []*scalar.Column, conditions []scalar.Expr) int {
	var items []string
	names := map[*scalar.Column]string{}
	for i, c := range cols {
		name := "v" + strconv.Itoa(i+1)
		names[c.Base()] = name + ".x"
		items = append(items, en.listOf(c)+" AS "+name+"(x)")
	}
	w := &unfolding{constants: en.source.Inlined(), leaf: func(c *scalar.Column) string { return names[c.Base()] }}
	var where []string
	for _, c := range conditions {
		sql, _ := w.write(c)
		where = append(where, sql)
	}
	for _, c := range cols {
		for _, list := range en.source.ListsOf(c) {
			if sql, ok := scalar.Native(list, (*scalar.Column).Read, en.source.Inlined()); ok {
				where = append(where, names[c.Base()]+" OPERATOR(pg_catalog.=) ANY ("+sql+")")
			}
		}
	}
	write := func(e scalar.Expr) string { sql, _ := w.write(e); return sql }
	return en.enumerate(keys, strings.Join(items, ", "), strings.Join(where, " AND "), write)
}

// enumerate adds the constant that contains the distinct values of keys as JSON, in the order of their types; it is empty if they take too
// many bytes. Each value has one spelling in it, whatever it is combined with: otherwise a row would belong to several partitions.
func (en *enumeration) enumerate(keys []int, from, where string, write func(scalar.Expr) string) int {
	var order, texts []string
	for n := range keys {
		order, texts = append(order, sqltext.Of("d", sqltext.Key(n))), append(texts, sqltext.Of("d", enumeratedText(n)))
	}
	array := "pg_catalog.json_build_array(" + strings.Join(texts, ", ") + ")"
	list := "pg_catalog.json_agg(" + array + " ORDER BY " + strings.Join(order, ", ") + ")"
	size := "pg_catalog.sum(pg_catalog.octet_length(pg_catalog.concat(" + strings.Join(texts, ", ") + ")))"
	text := fmt.Sprintf("CASE WHEN %s > %d THEN '' ELSE CAST(%s AS pg_catalog.text) END", size, maxListBytes, list)
	sql := "(" + (&sqltext.Select{
		Columns: []sqltext.Column{{SQL: text}},
		From:    &sqltext.Query{Select: en.different(keys, from, where, write), As: "d"},
	}).SQL() + ")"
	return en.constants.Add(scalar.Fold{
		SQL: sql, Type: pgtype.Of(pgtype.Text), At: en.keys[keys[0]].at, Concealed: en.source.Concealing(), Derived: true,
	})
}

func enumeratedText(n int) string { return "t" + strconv.Itoa(n+1) }

// different selects the distinct values of keys, and their texts.
func (en *enumeration) different(keys []int, from, where string, write func(scalar.Expr) string) *sqltext.Select {
	values := &sqltext.Select{From: &sqltext.Table{SQL: from}}
	if where != "" {
		values.Where = []string{where}
	}
	q := &sqltext.Select{From: &sqltext.Query{Select: values, As: "v"}, Limit: maxGroups + 1}
	var texts []sqltext.Column
	for n, i := range keys {
		k := en.keys[i]
		values.Columns = append(values.Columns, sqltext.Column{SQL: write(k.expr), As: sqltext.Key(n)})
		value := sqltext.Of("v", sqltext.Key(n))
		text := scalar.Enumerated(k.typ, value)
		if scalar.Respelled(k.typ) {
			text = "pg_catalog.min(pg_catalog.min(" + text + " COLLATE pg_catalog.\"C\")) OVER (PARTITION BY " + value + ")"
		}
		q.GroupBy, texts = append(q.GroupBy, value), append(texts, sqltext.Column{SQL: text, As: enumeratedText(n)})
	}
	q.Columns = append(sqltext.Columns("", q.GroupBy...), texts...)
	return q
}

// leaves returns the columns from which an expression is computed, below derived tables. It returns nil for expressions that cannot be
// written for the mirror, or that may divide by zero there.
func (en *enumeration) leaves(e scalar.Expr) []*scalar.Column {
	u := &unfolding{constants: en.constants.Inlined(false), leaf: func(*scalar.Column) string { return longestName }}
	if _, ok := u.write(e); !ok {
		return nil
	}
	return slices.Clip(u.leaves)
}
