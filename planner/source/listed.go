package source

import (
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// resolveListed resolves a relation of constants. It is a public one, whose columns are arrays that the mirror has evaluated
// and that travel as parameters.
func (sc scope) resolveListed(f *ast.Listed, nullable bool) (node, frame, error) {
	r, err := sc.newRelation(f.Alias, f.At)
	if err != nil {
		return nil, frame{}, err
	}
	r.table = &policy.Table{Name: catalog.Name{Name: r.alias}, Public: true, Source: &catalog.Table{Kind: 'r'}}
	r.listed = true
	constants := &scalar.Resolver{
		Constants: sc.shared.Constants, Concealed: sc.resolved.view != "", Params: sc.shared.Params,
		Column: frame{}.unknownColumn, Work: sc.shared.Work,
	}
	it := &item{alias: f.Alias}
	for i, l := range f.Lists {
		x, err := constants.List(l, f.At)
		if err != nil {
			return nil, frame{}, err
		}
		name := "c" + strconv.Itoa(i+1)
		t := x.Type().Element().Unmodified()
		c := &scalar.Column{
			Name: l.Name, Type: t, NotNull: l.NotNull, Untold: sc.resolved.view != "",
			SQL: r.alias + "." + name, Reach: scalar.ReachOf(t, false), List: x,
		}
		r.unknown = r.unknown || sc.shared.Constants.Unknown(x)
		r.columns = append(r.columns, c)
		r.table.Columns = append(r.table.Columns, policy.Column{Column: catalog.Column{Name: name, NotNull: l.NotNull}})
		if l.Distinct && l.NotNull {
			r.table.Source.Keys = append(r.table.Source.Keys, catalog.Key{Columns: []string{name}})
		}
		it.fields = append(it.fields, field{name: l.Name, column: c})
	}
	if len(f.Key) > 0 {
		var key catalog.Key
		for _, i := range f.Key {
			key.Columns = append(key.Columns, r.table.Columns[i].Name)
		}
		r.table.Source.Keys = append(r.table.Source.Keys, key)
	}
	notNull := valued(r.columns, nullable)
	sc.addRelation(r)
	return r, frame{[]*item{it}, it.fields, notNull}, nil
}

// unknownColumn refuses any column.
func (f frame) unknownColumn(c *ast.Column) (*scalar.Column, error) { return nil, f.unknown(c) }

// listSQL writes a relation of constants. Constants are written by w: as parameters, or as text for the mirror.
func listSQL(r *relation, w *scalar.Writer) (string, error) {
	var arrays, names []string
	for i, c := range r.columns {
		sql, err := w.Expr(c.List)
		if err != nil {
			return "", err
		}
		arrays, names = append(arrays, "pg_catalog.unnest("+sql+")"), append(names, r.table.Columns[i].Name)
	}
	return "(SELECT * FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS l(" + strings.Join(names, ", ") + "))", nil
}

// listItem writes it as an item of FROM.
func (p *sourceWriter) listItem(r *relation, own []string) (sqltext.Item, error) {
	sql, err := listSQL(r, p.w)
	return &sqltext.Table{SQL: sql, As: r.alias, Own: own}, err
}

// listedRows returns how many rows a relation of constants has, and checks what its proofs have taken for granted.
func (r *relation) listedRows(env *scalar.Env) (most int64, err error) {
	asWritten := true
	for i, c := range r.columns {
		n, notNull := env.Listed(c.List)
		most = max(most, n)
		asWritten = asWritten && n >= 0 && (notNull || !r.table.Columns[i].NotNull)
	}
	for _, key := range r.keys() {
		var lists []scalar.Expr
		for _, i := range key {
			lists = append(lists, r.columns[i].List)
		}
		asWritten = asWritten && env.Different(lists)
	}
	if !asWritten {
		return 0, pgerr.New(pgerr.Internal, "a list of constants is not as it was written").At(r.at)
	}
	if most > scalar.MaxListed {
		return 0, pgerr.New(pgerr.ProgramLimitExceeded, "a list of constants has more than %d rows", scalar.MaxListed).At(r.at).
			WithHint("Take fewer: a longer list has to be a public table.")
	}
	return most, nil
}
