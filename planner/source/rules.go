package source

import (
	"cmp"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// A query in an expression that has a value for each row of its level is an Apply, and so is LATERAL: of every row, the query is evaluated
// anew. The rules below put joins in the place of Applies once the names of FROM are resolved, and before the level is proved: package core
// judges these joins as any others. A rule whose condition does not hold leaves the query as it is. A query that is left is refused.
//
// Names of identities are those of Galindo-Legaria and Joshi, Orthogonal Optimization of Subqueries and Aggregation, SIGMOD 2001, of which
// each rule has the case that it needs.

// An applyRule returns what stands for a query in an expression of a level, and the join with FROM that has it, nil if there is one
// already. Both are nil if its condition does not hold.
type applyRule struct {
	name  string
	apply func(*applied, ast.Expr) (ast.Expr, *ast.Join)
	// lateral returns the query of all rows that takes the place of one in FROM, and its columns if they are computed of these; nil if
	// its condition does not hold.
	lateral func(*perRow, lateral) (*ast.Select, []ast.Target)
}

// applyRules are tried in this order.
var applyRules = []applyRule{
	// Apply(R, outer, Map(Filter(S))) = Map(Join(R, left, S)), if a row of R has one match at most: identity (2) of an outer Apply.
	{"ApplyLookup", applyLookup, nil},
	// Filter(R, EXISTS S) = Filter(Join(R, left, S), S is there), likewise.
	{"ApplyFound", applyFound, nil},
	// Apply(R, cross, Group(S, none, F)) = Map(Join(R, left, Group(S, ties, F))), with F of no rows where there is no group: identity (9).
	{"ApplyScalarGroup", applyScalarGroup, lateralGroup},
	// Apply(R, outer, Limit(1, Order(S))) = Map(Join(R, left, Filter(Rank(S, ties)))): identities (1) and (2), if a row of R has one match.
	{"ApplyFirst", applyFirst, lateralFirst},
	// Filter(R, x IN Limit(n, Order(S))) = Filter(R, x IN Filter(Rank(S, ties), rank <= n and ties)): identity (1), of a semi-join.
	{"LimitToRank", limitToRank, nil},
	// Apply(R, outer, Map(S)) = Map(Join(R, left, S)), if a row of R has one match at most: identity (2), of rows of any query.
	{"ApplyOne", applyOne, nil},
	// Apply(R, cross, S) = Join(R, inner, S, ties), and of an outer Apply the left join: identities (1) and (2).
	{"ApplyRows", nil, lateralRows},
	// Filter(R, x > ALL S) = Filter(Join(R, left, Group(S, ties, max)), x > max): a value is greater than all if it is than the greatest.
	{"CompareToExtreme", compareToExtreme, nil},
	// Filter(R, EXISTS S) = Filter(Join(R, left, Group(Join(R, cross, S), key of R)), the key is there): a semi-join is a join without
	// duplicates (Pirahesh, Hellerstein and Hasan, Extensible/Rule Based Query Rewrite Optimization in Starburst, SIGMOD 1992).
	{"SemiToGroup", semiToGroup, nil},
}

// A joinRule says that a join that a rule has made can be another one.
type joinRule struct {
	name  string
	apply func(*applied, *lookup) (ast.JoinKind, bool)
}

// joinRules change the joins of the rules above.
var joinRules = []joinRule{
	// Join(R, left, S) = Join(R, inner, S), if every row of R has a match.
	{"LeftToInner", leftToInner},
}

// A fromRule returns the query of an item of FROM whose own FROM takes its place, nil if its condition does not hold.
type fromRule struct {
	name  string
	apply func(sc scope, f ast.From, nullable, whole bool) (*ast.Derived, *ast.Select)
}

// fromRules change FROM while its names are resolved.
var fromRules = []fromRule{
	// Map(Filter(Map(Filter(R)))) = Map(Filter(R)), and Join(Filter(R), S) = Filter(Join(R, S)): laws of selections and projections
	// (Garcia-Molina, Ullman and Widom, section 16.2).
	{"MergeProjection", mergeProjection},
}

// A blockRule returns a block that stands for another one, or the block itself if its condition does not hold.
type blockRule struct {
	name  string
	apply func(*policy.Model, *ast.Block) *ast.Block
}

// blockRules change a block before its names are resolved.
var blockRules = []blockRule{
	// Distinct(Join(R, S)) = Distinct(Join(Distinct(R), Distinct(S))), of the columns that are used: a law of duplicate elimination
	// (Garcia-Molina, Ullman and Widom, Database Systems: The Complete Book, section 16.2).
	{"DistinctBelowJoin", distinctBelowJoin},
}

// An applied is a level while rules put joins in the place of queries.
type applied struct {
	scope // of expressions over FROM, with the joins that there are so far
	// from is FROM of the statement.
	from ast.From
	// rows are those that are looked up.
	rows []*lookup
	// queries are those with a value for each row that have been joined, and tried is the last one, for which rules are tried.
	queries []*perRow
	tried   *perRow
	err     error
}

// joinApplied joins FROM with what stands for queries in expressions, and puts that in their place.
func joinApplied(sc scope, from ast.From, list []*ast.Expr) (scope, error) {
	a := &applied{scope: sc, from: from}
	for _, e := range list {
		if *e = a.normal(*e); a.err != nil {
			return sc, a.err
		}
	}
	return a.scope, nil
}

// normal is the expression without the queries to which a rule applies.
func (a *applied) normal(e ast.Expr) ast.Expr {
	return ast.Replace(e, func(x ast.Expr) ast.Expr {
		for _, r := range a.shared.rules {
			if a.err != nil {
				return nil
			}
			if r.apply == nil {
				continue
			}
			joined := len(a.queries)
			stand, join := r.apply(a, x)
			if join != nil {
				a.scope, a.err = a.attached(join)
			}
			for _, q := range a.queries[joined:] {
				a.err = cmp.Or(a.err, q.separated(a.resolved.root))
			}
			if stand != nil {
				return stand
			}
		}
		if refusal := refusalOf(x); refusal != nil && a.err == nil {
			a.err = refusal
		}
		return nil
	})
}

// ownSelect is a copy of a query, with the places of the expressions over its rows, WHERE first: those in the order in which they are
// resolved. Above groups there are none, since no aggregate has a query in it.
func ownSelect(sel *ast.Select) (*ast.Select, []*ast.Expr) {
	out := *sel
	out.Groups, out.Targets = slices.Clone(sel.Groups), slices.Clone(sel.Targets)
	out.First, out.Order = slices.Clone(sel.First), slices.Clone(sel.Order)
	list := []*ast.Expr{&out.Where}
	for i := range out.Groups {
		list = append(list, &out.Groups[i])
	}
	if len(sel.Groups) == 0 && sel.Having == nil {
		for i := range out.Targets {
			list = append(list, &out.Targets[i].X)
		}
	}
	for i := range out.First {
		list = append(list, &out.First[i])
	}
	for i := range out.Order {
		list = append(list, &out.Order[i].X)
	}
	return &out, list
}

// ownBlock is a copy of a block, likewise.
func ownBlock(b *ast.Block) (*ast.Block, []*ast.Expr) {
	out := *b
	out.Groups, out.Aggregates = slices.Clone(b.Groups), slices.Clone(b.Aggregates)
	list := []*ast.Expr{&out.Where}
	for i := range out.Groups {
		list = append(list, &out.Groups[i])
	}
	for i, of := range b.Aggregates {
		a := *of
		a.Args, out.Aggregates[i] = slices.Clone(a.Args), &a
		for n := range a.Args {
			list = append(list, &a.Args[n])
		}
		list = append(list, &a.Within, &a.Filter, &a.Weight)
	}
	return &out, list
}

// holdsValue reports whether there is a query in an expression that is evaluated for each row.
func holdsValue(e ast.Expr) bool {
	return refusalOf(e) != nil || slices.ContainsFunc(ast.Operands(e), holdsValue)
}

// refusalOf is the error of such a query that no rule takes; nil of any other expression.
func refusalOf(e ast.Expr) *pgerr.Error {
	switch e := e.(type) { //nolint:gochecksumtype // the others are evaluated once, or looked for
	case *ast.ValueQuery:
		return e.Refusal
	case *ast.Quantified:
		return e.Refusal
	}
	return nil
}
