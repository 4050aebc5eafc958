package parser

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// DropHidden returns the query of a view without the columns that show hidden ones, and the
// places of these in its list, from 0. The query is one that Postgres prints: it names every
// relation with its schema, and no star. Hidden returns the hidden columns of a relation.
//
// A column of a view shows a hidden one where its expression names it. It is an error if the
// query names a hidden column anywhere else, or would have other rows without the columns
// that show it: then analysts could ask about the hidden column through the view.
func DropHidden(query string, hidden func(schema, name string) []string) (rest string, withheld []int, err error) {
	query, tree, ok := viewQuery(query)
	if !ok {
		return "", nil, errDropHidden
	}
	w := &hiding{hidden: hidden, named: map[string][]string{}}
	w.collect(tree)
	if len(w.all) == 0 {
		return query, nil, nil
	}
	if query, tree, err = w.parse(query); err != nil {
		return "", nil, err
	}
	if withheld, err = w.shows(tree.GetSelectStmt()); err != nil {
		return "", nil, err
	}
	if rest, err = w.leave(query, tree.GetSelectStmt(), withheld); err != nil {
		return "", nil, err
	}
	if name := w.mention(tree); name != "" {
		return "", nil, fmt.Errorf("the view names the hidden column %q elsewhere than in the list of its columns: "+
			"analysts could ask about it through the view", name)
	}
	_, again, err := w.parse(rest)
	if err != nil {
		return "", nil, err
	}
	want, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: tree})
	if got, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: again}); string(got) != string(want) {
		return "", nil, errDropHidden
	}
	return rest, withheld, nil
}

var errDropHidden = errors.New("the columns of the view that show hidden ones cannot be told from its other text")

// hiding finds the hidden columns that a query names. In doubt it does.
type hiding struct {
	hidden func(schema, name string) []string
	// named are the hidden columns of the relations that are called so, at any level.
	named map[string][]string
	// all are the hidden columns of all relations.
	all  []string
	toks lex.Tokens
}

// parse scans and parses a query whose locations are then those of its own text.
func (w *hiding) parse(query string) (string, *pg.Node, error) {
	query, _, ok := viewQuery(query)
	toks, comments, err := lex.Scan(query)
	if !ok || err != nil {
		return "", nil, errDropHidden
	}
	parsed, err := pg.Parse(lex.Blank(query, toks, comments))
	if err != nil {
		return "", nil, errDropHidden
	}
	w.toks = toks
	return query, parsed.Stmts[0].Stmt, nil
}

// below visits the nodes directly below n, those of a query too.
func below(n *pg.Node, visit func(*pg.Node)) {
	if sel := n.GetSelectStmt(); sel != nil {
		pgtree.Others(sel.ProtoReflect(), visit)
		return
	}
	pgtree.Children(n, visit)
}

// collect notes the relations with hidden columns.
func (w *hiding) collect(n *pg.Node) {
	if v := n.GetRangeVar(); v != nil {
		name := v.Relname
		if v.Alias != nil {
			name = v.Alias.Aliasname
		}
		if columns := w.hidden(v.Schemaname, v.Relname); len(columns) > 0 {
			w.named[name] = append(w.named[name], columns...)
			w.all = append(w.all, columns...)
		}
	}
	below(n, w.collect)
}

// mention returns a hidden column that may be named at the node or below it, or "".
func (w *hiding) mention(n *pg.Node) (name string) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return w.reference(x.ColumnRef)
	case *pg.Node_RangeVar:
		if columns := w.hidden(x.RangeVar.Schemaname, x.RangeVar.Relname); len(columns) > 0 && len(x.RangeVar.Alias.GetColnames()) > 0 {
			return columns[0] // under another name
		}
	case *pg.Node_JoinExpr:
		using, _ := pgtree.Strings(x.JoinExpr.UsingClause)
		switch i := slices.IndexFunc(using, w.isHidden); {
		case i >= 0:
			return using[i]
		case x.JoinExpr.IsNatural || len(x.JoinExpr.Alias.GetColnames()) > 0:
			return w.all[0]
		}
	}
	below(n, func(n *pg.Node) {
		if name == "" {
			name = w.mention(n)
		}
	})
	return name
}

func (w *hiding) isHidden(name string) bool { return slices.Contains(w.all, name) }

// reference returns the hidden column that a reference may mean, or "". A whole row names
// all of its columns.
func (w *hiding) reference(c *pg.ColumnRef) string {
	names, plain := pgtree.Strings(c.Fields)
	first := func(columns []string) string {
		if len(columns) == 0 {
			return ""
		}
		return columns[0]
	}
	switch {
	case len(names) == 0:
		return w.all[0]
	case !plain:
		return first(w.named[names[len(names)-1]])
	case len(names) == 1 && w.isHidden(names[0]):
		return names[0]
	case len(names) == 1:
		return first(w.named[names[0]])
	case slices.Contains(w.named[names[len(names)-2]], names[len(names)-1]):
		return names[len(names)-1]
	}
	return ""
}

// shows returns the places of the columns that show hidden ones.
func (w *hiding) shows(sel *pg.SelectStmt) ([]int, error) {
	found := map[int]bool{}
	for _, arm := range arms(sel) {
		for i, t := range arm.TargetList {
			name := w.mention(t)
			if name == "" {
				continue
			}
			found[i] = true
			if arm.DistinctClause != nil || calls(t) {
				return nil, fmt.Errorf("the rows of the view may depend on the hidden column %q: "+
					"analysts could ask about it through the view", name)
			}
		}
	}
	withheld := slices.Sorted(maps.Keys(found))
	if len(withheld) > 0 && sel.Op != pg.SetOperation_SETOP_NONE && (!onlyUnionAll(sel) || len(sel.SortClause) > 0) {
		return nil, errors.New("a view that shows hidden columns and combines queries takes UNION ALL, without ORDER BY")
	}
	return withheld, nil
}

// calls reports whether a function is called in an expression: one may be an aggregate, or
// return several rows.
func calls(n *pg.Node) (found bool) {
	below(n, func(n *pg.Node) { found = found || n.GetFuncCall() != nil || calls(n) })
	return found
}

// arms returns the queries that a query combines, or itself.
func arms(sel *pg.SelectStmt) []*pg.SelectStmt {
	if sel.Op == pg.SetOperation_SETOP_NONE {
		return []*pg.SelectStmt{sel}
	}
	return slices.Concat(arms(sel.Larg), arms(sel.Rarg))
}

func onlyUnionAll(sel *pg.SelectStmt) bool {
	return sel.Op == pg.SetOperation_SETOP_NONE ||
		sel.Op == pg.SetOperation_SETOP_UNION && sel.All && onlyUnionAll(sel.Larg) && onlyUnionAll(sel.Rarg)
}

// leave takes the columns out of the lists of the query, in the tree and in its text.
func (w *hiding) leave(query string, sel *pg.SelectStmt, withheld []int) (string, error) {
	var b strings.Builder
	at := 0
	for _, arm := range arms(sel) {
		if len(withheld) == 0 {
			break
		}
		texts, span, ok := w.list(query, arm)
		if !ok || withheld[len(withheld)-1] >= len(texts) {
			return "", errDropHidden
		}
		var kept []string
		var targets []*pg.Node
		for i, t := range arm.TargetList {
			if !slices.Contains(withheld, i) {
				kept, targets = append(kept, texts[i]), append(targets, t)
			}
		}
		if len(kept) == 0 {
			return "", errors.New("every column of the view shows a hidden one")
		}
		b.WriteString(query[at:span.Start] + strings.Join(kept, ", "))
		at, arm.TargetList = span.End, targets
	}
	return b.String() + query[at:], nil
}

// list returns the texts of the columns of a query, and the place of their list.
func (w *hiding) list(query string, arm *pg.SelectStmt) (texts []string, whole Span, ok bool) {
	for i, t := range arm.TargetList {
		from := w.toks.IndexAt(int(t.GetResTarget().Location))
		if from < 0 {
			return nil, Span{}, false
		}
		end := w.fromClause(from)
		if i+1 < len(arm.TargetList) {
			end = w.toks.IndexAt(int(arm.TargetList[i+1].GetResTarget().Location)) - 1 // the comma
		}
		if end <= from {
			return nil, Span{}, false
		}
		span := Span{w.toks[from].Start, w.toks[end-1].End}
		if i == 0 {
			whole.Start = span.Start
		}
		whole.End = span.End
		texts = append(texts, query[span.Start:span.End])
	}
	return texts, whole, len(texts) > 0
}

// fromClause returns the index of FROM behind the last column of a list, which begins at
// the token, or -1.
func (w *hiding) fromClause(last int) int {
	for i := last; ; i++ {
		i = w.toks.Keyword(pg.Token_FROM, i, len(w.toks), w.toks[last].Depth)
		if i < 0 || w.toks.Kind(i-1) != pg.Token_DISTINCT {
			return i
		}
	}
}
