package repair

import (
	"maps"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

const (
	// maxInstead is the length of the longest statement that is rewritten.
	maxInstead = 16_000
	// mostFound bounds how many statements are found in its place, of which the caller plans each.
	mostFound = 32
)

// A rule writes statements in the place of a refused one: none if its condition does not hold.
type rule struct {
	name  string
	write func(*refused)
}

// rules are the rules for a SELECT, the nearest first: from rule to rule, less of the question is left.
var rules = []rule{
	// The same question, in a form that is answered.
	{"ModeToGroups", modeToGroups},
	{"ModeToMedian", modeToMedian},
	{"ParentBounds", parentBounds},
	{"SuggestBounds", suggestBounds},
	{"Magnitudes", magnitudes},
	{"ContToDisc", contToDisc},
	{"IntervalToSeconds", intervalToSeconds}, // of a date, seconds would be no length of time: those have a percentile_disc
	{"DiscToMode", discToMode},
	{"WholeKey", wholeKey},
	{"RowsToColumn", rowsToColumn},
	{"TuplesToText", tuplesToText},
	{"UnionToDistinct", unionToDistinct},
	{"ExistsToAggregate", existsToAggregate},
	{"ValueToGroups", valueToGroups},
	{"ExistsToCounts", existsToCounts},
	{"CountToRank", countToRank},
	{"CollectGroups", collectGroups},
	{"ExtremesOfGroups", extremesOfGroups},
	// Fewer rows: one for all units, or for a group of them.
	{"UnitsToAverage", unitsToAverage},
	{"WindowToGroups", windowToGroups},
	// Rows beside others, joined.
	{"JoinOnUnit", joinOnUnit},
	{"LateralToJoin", lateralToJoin},
	{"TilesToQuantiles", tilesToQuantiles},
	{"Distribution", distribution},
	{"GroupsToDistinct", groupsToDistinct},
	{"GroupsBelow", groupsBelow},
	{"CountBeside", countBeside},
	{"JoinAbove", joinAbove},
	{"ValuesToCase", valuesToCase},
	{"ExistsToJoin", existsToJoin},
	{"DivisionToCount", divisionToCount},
	{"LimitToMedian", limitToMedian},
	// A part of the question.
	{"LimitBelow", limitBelow},
	{"FewerKeys", fewerKeys},
	{"CountRows", countRows},
	{"WithAlone", withAlone},
	{"ValueAlone", valueAlone},
	{"ListToGroups", listToGroups},
}

// utilityRules are the rules for the other statements.
var utilityRules = []rule{
	{"ExplainPlain", explainPlain},
	{"ViewToTable", viewToTable},
	{"TableToWith", tableToWith},
	{"ChangeToCount", changeToCount},
	{"DistinctBranches", distinctBranches},
}

// Instead returns what asks for much of what a refused statement asks for, the nearest first. The caller must find out whether it is
// answered. at is the place of the refused thing in the text, -1 if it is not known.
func Instead(sql string, at int, schema Schema) []Candidate {
	t, ok := read(sql)
	if !ok {
		return nil
	}
	if rest, n, shorter := withoutErrors(t, at); shorter {
		if t, ok = read(rest); !ok {
			return nil
		}
		at = n
	}
	r := newRefused(t, spot(at), schema)
	r.apply(utilityRules...)
	if r.query != nil && r.Op == pg.SetOperation_SETOP_NONE {
		r.apply(rules...)
	}
	return r.found
}

// A refused is a statement for which rules write others.
type refused struct {
	*statement
	*query // the SELECT, nil if it is something else
	tables
	at spot
	// before are the statements that make bounds, and made has constants for the texts that read them.
	before string
	made   map[string]string
	rule   string // that is at work
	found  []Candidate
}

// Bounded writes a candidate with more bounds, if it is refused for the lack of them at a place of its statement.
func Bounded(c Candidate, at int, schema Schema) []Candidate {
	t, ok := read(c.SQL)
	if !ok {
		return nil
	}
	r := newRefused(t, spot(at), schema)
	if r.query == nil {
		return nil
	}
	r.before, r.made, r.bounded = c.Before, c.made, c.bounded
	for _, known := range rules {
		if known.name == "SuggestBounds" {
			r.apply(known)
		}
	}
	return r.found
}

func newRefused(t *statement, at spot, schema Schema) *refused {
	sel := t.stmt.GetSelectStmt()
	if x := t.stmt.GetExplainStmt(); x != nil && !pgtree.Executes(x) {
		sel = x.Query.GetSelectStmt()
	}
	return &refused{
		statement: t, query: t.located(sel), at: at,
		tables: tables{Schema: schema, ctes: sel.GetWithClause(), boundless: map[lookup]bool{}},
	}
}

// apply lets rules write, each in turn.
func (r *refused) apply(list ...rule) {
	for _, rule := range list {
		r.rule, r.lost = rule.name, false
		rule.write(r)
	}
}

// add adds a statement, unless it is there already or a part of it was not found.
func (r *refused) add(sql string) { r.addAfter("", bought{}, sql) }

// addAfter adds a statement after others that it needs, with constants for what these make.
func (r *refused) addAfter(before string, more bought, sql string) {
	c := Candidate{Before: r.before + before, SQL: sql, rule: r.rule, bought: bought{maps.Clone(r.made), maps.Clone(r.bounded)}}
	if more.made != nil {
		maps.Copy(more.made, c.made)
		maps.Copy(more.bounded, c.bounded)
		c.bought = more
	}
	known := func(o Candidate) bool { return o.Before == c.Before && o.SQL == c.SQL }
	if !r.lost && len(r.found) < mostFound && !slices.ContainsFunc(r.found, known) {
		r.found = append(r.found, c)
	}
}

// edit adds the statement with a draft in the place of its SELECT, unless nothing is changed.
func (r *refused) edit(d *draft) {
	if d.changes() {
		r.add(r.edited(r.all(), edit{r.Span, d.String()}))
	}
}

// ask adds a query in the place of the SELECT. Of the WITH queries those stay that it names, and those that they name.
func (r *refused) ask(sql string) {
	needed := r.needed(sql)
	switch all := r.ctes.GetCtes(); {
	case len(needed) == 0:
		r.add(r.edited(r.all(), edit{r.whole, sql}))
	case len(needed) == len(all) || r.ctes.Recursive:
		r.add(r.edited(r.all(), edit{r.Span, sql}))
	default:
		texts := make([]string, len(needed))
		for i, c := range needed {
			texts[i] = r.edited(r.withQuery(c))
		}
		r.add(r.edited(r.all(), edit{r.whole, "WITH " + strings.Join(texts, ", ") + " " + sql}))
	}
}

// withQuery is the place of a WITH query, with its name.
func (r *refused) withQuery(c *pg.CommonTableExpr) pgtree.Span {
	q := r.located(c.Ctequery.GetSelectStmt())
	if q == nil {
		return r.nowhere()
	}
	name, first := r.toks.IndexAt(int(c.Location)), r.toks.IndexAt(q.whole.Start)
	return r.between(name, r.toks.Brackets(first-1))
}

// needed lists the WITH queries that a text names, or that these name, in their order.
func (r *refused) needed(sql string) (list []*pg.CommonTableExpr) {
	all := r.ctes.GetCtes()
	for i, c := range slices.Backward(all) {
		cte := c.GetCommonTableExpr()
		named := namesWithQuery(sql, cte.Ctename)
		for _, later := range list {
			named = named || len(find(func(n *pg.Node) bool {
				v := n.GetRangeVar()
				return v.GetSchemaname() == "" && v.GetRelname() == cte.Ctename
			}, later.Ctequery)) > 0
		}
		if named {
			list = slices.Insert(list, 0, all[i].GetCommonTableExpr())
		}
	}
	return list
}

// namesWithQuery reports whether a text has a name in it.
func namesWithQuery(sql, name string) bool {
	toks, _, err := lex.Scan(sql)
	return err == nil && slices.ContainsFunc(toks, func(t lex.Token) bool {
		word := sql[t.Start:t.End]
		return lex.Lower(word) == name || word == ast.QuoteIdent(name)
	})
}

// again lets a rule write about another SELECT in the place of this one.
func (r *refused) again(sql string, write func(*refused)) {
	t, ok := read(r.edited(r.all(), edit{r.Span, sql}))
	if r.lost || !ok {
		return
	}
	other := newRefused(t, -1, r.Schema)
	if other.query != nil {
		other.rule, other.found, other.before, other.made, other.bounded = r.rule, r.found, r.before, r.made, r.bounded
		write(other)
		r.found = other.found
	}
}
