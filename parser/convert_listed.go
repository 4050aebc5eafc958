package parser

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// maxDistinct bounds the texts that are told apart as they are written: of longer ones comparisons do not
// see all.
const maxDistinct = 1000

// maxKey bounds the columns by which rows are told apart: more are not looked at.
const maxKey = 4

// listed names the columns of a relation of constants: the first have names of their own.
func (v *queryConverter) listed(lists []ast.List, alias string, names []string, location int32) ast.From {
	out := &ast.Listed{Lists: lists, Alias: alias, At: v.a.pos(location)}
	if len(names) > len(lists) {
		v.notAllowed(location, "more names than columns")
		return nil
	}
	for i, name := range names {
		lists[i].Name = name
	}
	return out
}

// listedValues converts VALUES in FROM, or that of a WITH query.
func (v *queryConverter) listedValues(sel *pg.SelectStmt, alias string, names []string, location int32) ast.From {
	v.tail(sel, location)
	at := v.a.pos(location)
	lists := make([]ast.List, len(sel.ValuesLists[0].GetList().GetItems()))
	columns := make([][]ast.Expr, len(lists))
	for _, n := range sel.ValuesLists {
		row := n.GetList().GetItems()
		if len(row) != len(lists) {
			v.notAllowed(location, "VALUES lists of different lengths")
			return nil
		}
		for i, cell := range row {
			columns[i] = append(columns[i], exprConverter{v, false}.expr(cell))
		}
	}
	for i, list := range columns {
		lists[i] = ast.List{Name: valuesColumn(i), Array: &ast.Array{Elems: list, At: at}}
		lists[i].NotNull, lists[i].Distinct = literals(list)
	}
	out := v.listed(lists, alias, names, location)
	if l, ok := out.(*ast.Listed); ok {
		l.Key = keyOf(columns)
	}
	return out
}

// valuesColumn is the name that Postgres gives a column of VALUES.
func valuesColumn(i int) string { return "column" + strconv.Itoa(i+1) }

// keyOf returns the first of several columns of literals by which rows are told apart, without those that it takes none of; nil if
// there are none.
func keyOf(columns [][]ast.Expr) (key []int) {
	for i, list := range columns {
		if _, told := told(list); !told {
			continue
		}
		if key = append(key, i); !tellApart(columns, key) {
			if len(key) == maxKey {
				return nil
			}
			continue
		}
		for _, j := range slices.Clone(key) {
			without := slices.DeleteFunc(slices.Clone(key), func(k int) bool { return k == j })
			if tellApart(columns, without) {
				key = without
			}
		}
		if len(key) > 1 {
			return key
		}
		return nil // the column says so itself
	}
	return nil
}

// tellApart reports whether no two rows have the same texts in the columns.
func tellApart(columns [][]ast.Expr, key []int) bool {
	seen := map[string]bool{}
	for row := range columns[0] {
		var text strings.Builder
		for _, i := range key {
			c, _ := literal(columns[i][row])
			text.WriteString(strconv.Quote(c.Text))
		}
		if seen[text.String()] {
			return false
		}
		seen[text.String()] = true
	}
	return true
}

// splitText converts string_to_array of two literals as the array that it is; nil of anything else, and of more texts than are told apart.
func splitText(f *pg.FuncCall, at int) ast.Expr {
	var args []string
	for _, n := range f.Args {
		if s := n.GetAConst().GetSval(); s != nil && s.Sval != "" {
			args = append(args, s.Sval)
		}
	}
	if len(args) != 2 || len(f.Args) != 2 || strings.Count(args[0], args[1]) >= maxDistinct {
		return nil
	}
	list := &ast.Array{At: at}
	for text := range strings.SplitSeq(args[0], args[1]) {
		list.Elems = append(list.Elems, &ast.Const{Kind: ast.String, Text: text, At: at})
	}
	return &ast.Cast{X: list, Type: ast.TypeName{Schema: "pg_catalog", Name: "text", Array: true}, At: at}
}

// literals reports whether all values are literals and not NULL, and whether they are different.
func literals(list []ast.Expr) (notNull, distinct bool) {
	notNull, distinct = told(list)
	return notNull, distinct && tellApart([][]ast.Expr{list}, []int{0})
}

// told reports whether all values are literals and not NULL, or not known, and whether they are literals of one kind, and of one type, of
// which two are different if they are written otherwise: texts, and whole numbers, days and truth values as Postgres writes them.
func told(list []ast.Expr) (notNull, apart bool) {
	apart = true
	for _, x := range list {
		c, kind := literal(x)
		if c == nil || c.Kind == ast.Null && !c.Unknown {
			return false, false
		}
		if c.Kind == ast.Null { // of one row: it is apart from no other
			apart = apart && len(list) == 1
			continue
		}
		first, likeFirst := literal(list[0])
		apart = apart && c.Kind == first.Kind && kind == likeFirst && len(c.Text) <= maxDistinct &&
			(c.Kind == ast.Integer && kind != plainText || c.Kind == ast.String) && asWritten(kind, c.Text)
	}
	return true, apart
}

// The casts of literals that are told apart as they are written.
const (
	wholeNumber = "whole number"
	plainText   = "text"
	day         = "day"
	moment      = "moment"
	instant     = "instant"
	decimal     = "decimal number"
	truth       = "truth value"
)

// literal returns a literal, also below a cast to texts or whole numbers, which it names; nil of others.
func literal(x ast.Expr) (c *ast.Const, kind string) {
	cast, ok := x.(*ast.Cast)
	if !ok {
		c, _ = x.(*ast.Const)
		return c, ""
	}
	c, ok = cast.X.(*ast.Const)
	if !ok || cast.Type.Array || len(cast.Type.Mods) > 0 || cast.Type.Schema != "pg_catalog" && cast.Type.Schema != "" {
		return nil, ""
	}
	switch cast.Type.Name {
	case "text", "varchar":
		return c, plainText
	case "int2", "int4", "int8":
		return c, wholeNumber
	case "date":
		return c, day
	case "timestamp":
		return c, moment
	case "timestamptz":
		return c, instant
	case "numeric":
		return c, decimal
	case "bool":
		return c, truth
	}
	return nil, ""
}

// asWritten reports whether a text is how Postgres writes a literal of the kind.
func asWritten(kind, text string) bool {
	switch kind {
	case wholeNumber:
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == text
	case day:
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case moment:
		return isMoment(text)
	case instant: // of one zone
		local, universal := strings.CutSuffix(text, "+00")
		return universal && isMoment(local)
	case decimal: // without zeros that change nothing
		return wholeDecimal.MatchString(text)
	case truth:
		return text == "t" || text == "f"
	}
	return true
}

// isMoment reports whether a text is how Postgres writes a date and time of day, by the ISO style.
func isMoment(text string) bool {
	const layout = "2006-01-02 15:04:05.999999"
	t, err := time.Parse(layout, text)
	return err == nil && t.Format(layout) == text
}

// wholeDecimal is a number in its shortest form.
var wholeDecimal = regexp.MustCompile(`^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9])$`)

// constantRows returns the VALUES of which a query selects all columns and rows as they are, and their names; nil of other queries.
func constantRows(sel *pg.SelectStmt) (values *pg.SelectStmt, names []string) {
	if len(sel.GetValuesLists()) > 0 {
		return sel, nil
	}
	if len(sel.GetFromClause()) != 1 || len(sel.TargetList) != 1 || !pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal()) ||
		len(sel.TargetList[0].GetResTarget().GetVal().GetColumnRef().GetFields()) != 1 {
		return nil, nil
	}
	from := sel.FromClause[0].GetRangeSubselect()
	bare := &pg.SelectStmt{
		TargetList: sel.TargetList, FromClause: sel.FromClause, LimitOption: sel.LimitOption, Op: sel.Op,
	}
	if from == nil || from.Lateral || len(from.Subquery.GetSelectStmt().GetValuesLists()) == 0 || !proto.Equal(bare, sel) {
		return nil, nil
	}
	return from.Subquery.GetSelectStmt(), columnNames(from.Alias.GetColnames())
}

// series converts a function in FROM: generate_series, or unnest of an array.
func (v *queryConverter) series(f *pg.RangeFunction) ast.From {
	var call *pg.FuncCall
	if len(f.Functions) == 1 {
		if items := f.Functions[0].GetList().GetItems(); len(items) > 0 {
			call = items[0].GetFuncCall()
		}
	}
	at := pgtree.FirstLocation(f.GetFunctions()[0])
	name := pgtree.ListFunction(call)
	if column := arrayColumn(call); column != nil && !f.Ordinality && !f.IsRowsfrom && len(f.Coldeflist) == 0 {
		return v.elements(call, f.Alias)
	}
	if lists := v.arraysOf(f); lists != nil {
		return v.listed(lists, f.Alias.GetAliasname(), columnNames(f.Alias.GetColnames()), at)
	}
	if name == "" || f.Ordinality || f.IsRowsfrom || len(f.Coldeflist) > 0 {
		v.forbid(at, "a function in FROM",
			"A function of constants can be there, and unnest() of an array column. Write tables and sub-selects in FROM of the aggregate.")
		return nil
	}
	alias := name
	if f.Alias != nil {
		alias = f.Alias.Aliasname
	}
	return v.listed([]ast.List{v.listOf(call, alias)}, alias, columnNames(f.Alias.GetColnames()), at)
}

// arraysOf converts ROWS FROM of unnest of literal arrays, of one length; nil of anything else.
func (v *queryConverter) arraysOf(f *pg.RangeFunction) (lists []ast.List) {
	if !f.IsRowsfrom || f.Ordinality || f.Alias == nil || len(f.Coldeflist) > 0 {
		return nil
	}
	var columns [][]ast.Expr
	for _, n := range f.Functions {
		call := n.GetList().GetItems()[0].GetFuncCall()
		if pgtree.ListFunction(call) != "unnest" {
			return nil
		}
		x := exprConverter{v, false}.expr(call.Args[0])
		elements := literalElements(x)
		if len(elements) == 0 || len(columns) > 0 && len(elements) != len(columns[0]) {
			return nil
		}
		list := ast.List{Name: "unnest", Array: x}
		list.NotNull, list.Distinct = literals(elements)
		lists, columns = append(lists, list), append(columns, elements)
	}
	return lists
}

// listOf converts the call of such a function.
func (v *queryConverter) listOf(call *pg.FuncCall, name string) ast.List {
	args := exprConverter{v, false}.exprs(call.Args)
	if pgtree.ListFunction(call) != "unnest" {
		return ast.List{Name: name, Series: args, Distinct: true, NotNull: true}
	}
	list := ast.List{Name: name, Array: args[0]}
	if a, ok := args[0].(*ast.Array); ok && len(a.Elems) > 0 {
		list.NotNull, list.Distinct = literals(a.Elems)
	}
	return list
}

// selectedSeries moves such a function from the targets of a SELECT without FROM into one; nil if there is none, or several.
func (v *queryConverter) selectedSeries(targets []*pg.Node) ast.From {
	var calls []*pg.FuncCall
	for _, n := range targets {
		pgtree.Every(n.GetResTarget().GetVal(), func(m *pg.Node) {
			if pgtree.ListFunction(m.GetFuncCall()) != "" {
				calls = append(calls, m.GetFuncCall())
			}
		})
	}
	if len(calls) != 1 {
		return nil
	}
	const alias, name = "dp$list", "value"
	at := calls[0].Location
	out := v.listed([]ast.List{v.listOf(calls[0], name)}, alias, nil, at)
	v.moved = calls[0]
	v.movedTo = &ast.Column{Qualifier: alias, Name: name, At: v.a.pos(at)}
	return out
}

// recursion converts a recursive WITH query of one column that reads nothing but itself, such as a calendar: the mirror runs it.
// Its column has the type of the query that it begins with.
func (v *queryConverter) recursion(with *cte, alias string, names []string, location int32) ast.From {
	forbid := func() ast.From {
		v.forbid(location, "a recursive WITH query that is not of one column and of itself alone",
			"Write generate_series(), or a table or sub-select that is not recursive.")
		return nil
	}
	sel := with.node.Ctequery.GetSelectStmt()
	first := sel.GetLarg()
	if with.escape >= 0 || first == nil || len(first.TargetList) != 1 || len(first.FromClause) > 0 || !readsItself(v.a.cteRefs, with) {
		return forbid()
	}
	at, ok := v.a.l.withQuery(with.node)
	if !ok {
		return forbid()
	}
	text := v.a.l.text[at.Start:at.End]
	name := ast.QuoteIdent(with.node.Ctename)
	list := ast.List{
		Query: "WITH RECURSIVE " + text + " SELECT * FROM " + name,
		Like:  exprConverter{v, false}.expr(first.TargetList[0].GetResTarget().GetVal()),
	}
	list.Name, _ = pgtree.OutputName(first.TargetList[0].GetResTarget())
	return v.listed([]ast.List{list}, alias, names, location)
}

// readsItself reports whether a WITH query names no relation but itself.
func readsItself(refs map[*pg.RangeVar]*cte, with *cte) bool {
	itself := true
	pgtree.Every(with.node.Ctequery, func(n *pg.Node) {
		if r := n.GetRangeVar(); r != nil {
			itself = itself && refs[r] == with
		}
		itself = itself && n.GetCommonTableExpr() == nil
	})
	return itself
}
