package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
	"dpproxy/planner/work"
)

// Rows are those of a block, proved, while expressions over them are resolved.
type Rows struct {
	*bounded
	// Block is the block, with expressions over these rows.
	Block *ast.Block
	scope scope
}

// A Statement is what the blocks of one have in common while they are resolved.
type Statement struct {
	Model     *policy.Model
	Constants *scalar.Constants // to which those of the blocks are added
	Params    []uint32          // types of the parameters
	Work      *work.Meter
	// columns counts those of all sub-selects.
	columns int
}

// spend counts steps while the statement is resolved, and none of later questions about its proofs.
func (st *Statement) spend(steps int) error { return st.Work.Spend(steps) }

// maxColumns bounds the columns of all sub-selects of a statement: a * has many, and one of a * in each of many.
const maxColumns = 10 * sqltext.MaxColumns

// widen refuses sub-selects of more columns than Postgres takes, or dpproxy resolves.
func (st *Statement) widen(by, width, at int) error {
	if st.columns += by; width <= sqltext.MaxColumns && st.columns <= maxColumns {
		return nil
	}
	return pgerr.New(pgerr.StatementTooComplex, "a sub-select has more than %d columns, or all of them have more than %d",
		sqltext.MaxColumns, maxColumns).At(at).WithHint("Name the columns that are needed in place of *.")
}

// Resolve resolves FROM and WHERE of a block and proves whose its rows are. Its errors are
// *pgerr.Error with positions in the statement's text, and those of the order in which it is written.
func Resolve(st *Statement, block *ast.Block) (*Rows, error) {
	rows, err := resolve(st, block, true)
	if err != nil {
		return resolve(st, block, false)
	}
	return rows, nil
}

// resolve does it with items of FROM in their own order, or as it is written.
func resolve(st *Statement, block *ast.Block, ordered bool) (*Rows, error) {
	b := &shared{
		ordered:   ordered,
		Statement: st, rules: applyRules, fields: block.Fields, conceals: block.Concealed != "",
		terms: terms{judge: core.Judge{Spend: st.spend}},
	}
	for _, r := range blockRules {
		block = r.apply(st.Model, block)
	}
	block, over := ownBlock(block)
	sc, err := b.newLevel(place{view: block.Concealed}).resolveLevel(block.From, over)
	return &Rows{sc.proved, block, sc}, err
}

// Resolver resolves expressions over the rows.
func (r *Rows) Resolver() *scalar.Resolver { return r.scope.Resolver() }

// PublicRefs returns the public relations that have been named so far, as the statement wrote them.
func (r *Rows) PublicRefs() []ast.TableRef { return r.scope.shared.public }

// Source ends the block: all expressions over its rows are resolved.
func (r *Rows) Source() *Source {
	b := r.scope.shared
	return &Source{r.scope.end(), b.Constants, b.conceals}
}

// shared is known to all levels of a block while they are resolved.
type shared struct {
	*Statement
	rules []applyRule
	terms terms
	// weights are the sizes of the columns of queries in FROM, by their names.
	weights map[*ast.Select]map[string]int
	// ordered says that items of FROM are in an order of their own.
	ordered bool
	// fields are the keys of the fields that the block names.
	fields [][]string
	// public are the public relations that are named, as the statement wrote them.
	public []ast.TableRef
	// aliases counts the relations of all levels, looked those that are looked up, and perRow the queries that are evaluated for each row.
	aliases, looked, perRow int
	// begun are the queries in FROM whose rows are resolved already, and replacing the relations of those that take the place of others.
	begun     map[*ast.Select]scope
	replacing map[*ast.Select]*relation
	// conceals says that there is a view in the block whose query no analyst may see.
	conceals bool
}

// A draft is a level while its names are resolved, and those of the expressions over it.
type draft struct {
	shared   *shared
	resolved *resolved
	// pinned are references whose meaning is known without a name.
	pinned map[*ast.Column]*scalar.Column
	// outerColumns are those of the level around that are mentioned.
	outerColumns []*scalar.Column
	mentions     mentions
	proved       *bounded // nil before FROM and WHERE are resolved
	later        []*semijoin
	// pending are conditions of queries that are merged into FROM, on the rows of a node, until a join or the level has them.
	pending map[node][]condition
	// early are items of FROM that are resolved before their turn.
	early map[ast.From]itemOfFrom
	// plain says that what is merged must have no computed columns.
	plain bool
	// elements are the relations of FROM beside whose rows the elements of an array of theirs are.
	elements map[ast.From]*expansion
	// ended says that the level is complete: an expression that is resolved after that would
	// not be among those that the order of rows depends on.
	ended bool
}

// A scope is a place in a level where names have a meaning.
type scope struct {
	*draft
	frame frame
	// outer is the scope around, to which the WHERE of a sub-select may refer; nil elsewhere.
	outer *scope
}

func (b *shared) newLevel(at place) scope {
	return scope{draft: &draft{
		shared:   b,
		resolved: &resolved{place: at, model: b.Model, home: map[*scalar.Column]*relation{}},
		pinned:   map[*ast.Column]*scalar.Column{},
		mentions: mentions{seen: map[*scalar.Column]bool{}}, pending: map[node][]condition{},
	}}
}

// resolveLevel returns the scope of expressions over the level, the first of which is WHERE.
func (sc scope) resolveLevel(from ast.From, over []*ast.Expr) (scope, error) {
	sc, err := sc.resolveItems(from, over)
	if err != nil {
		return sc, err
	}
	return sc.resolveConditions(*over[0])
}

// resolveConditions returns the scope of expressions over a level whose FROM is resolved.
func (sc scope) resolveConditions(where ast.Expr) (scope, error) {
	sc.frame = sc.frame.withoutOwn()
	if err := sc.resolveWhere(where); err != nil {
		return sc, err
	}
	if err := sc.prove(); err != nil {
		return sc, err
	}
	return sc, sc.proved.errLoose()
}

// prove ends the resolution of FROM and WHERE.
func (d *draft) prove() error {
	if err := d.errPending(); err != nil {
		return err
	}
	if d.resolved.root != nil { // conditions that WHERE has link items as well
		d.resolved.root = d.reordered(d.resolved.root)
	}
	p, err := proveUnited(d)
	if err != nil {
		return err
	}
	d.proved, err = boundJoins(&d.shared.terms, p)
	return err
}

// end returns the level with the expressions over it.
func (d *draft) end() *level {
	d.ended = true
	return &level{bounded: d.proved, mentions: d.mentions, later: d.later}
}

// resolveItems returns the scope of expressions over FROM, the first of which is WHERE.
func (sc scope) resolveItems(from ast.From, over []*ast.Expr) (_ scope, err error) {
	sc.draft.plain = slices.ContainsFunc(over, func(e *ast.Expr) bool { return !ofOneRow(*e) }) ||
		sc.outer != nil && equatesComputed(*over[0], from)
	sc, err = sc.resolveFrom(from)
	if err == nil {
		sc, err = joinApplied(sc, from, over)
	}
	return sc, err
}

// resolveFrom returns it where FROM stays as it is.
func (sc scope) resolveFrom(f ast.From) (_ scope, err error) {
	sc.draft.plain = sc.plain || namesColumns(f)
	if d, sel := merged(sc, f, false, true); d != nil {
		return resolveWhole(sc, d, sel)
	}
	if sc.elements, err = expansions(sc.resolved.model, f); err != nil {
		return sc, err
	}
	inOrder(sc, f)
	n, all, err := sc.resolveItem(f, false)
	sc.rooted(n)
	sc.frame = all
	return sc, err
}

func (sc scope) resolveWhere(where ast.Expr) error {
	for _, e := range conjunction(where) {
		c, err := sc.resolveCondition(e)
		if err != nil {
			return err
		}
		if err := sc.correlation(c.x); err != nil {
			return err
		}
		sc.resolved.where = append(sc.resolved.where, c)
	}
	return nil
}

// conjunction returns the conditions that must all be true, as they were written.
func conjunction(e ast.Expr) []ast.Expr {
	if e == nil {
		return nil
	}
	b, ok := e.(*ast.Bool)
	if !ok || b.Kind != ast.And {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, arg := range b.Args {
		all = append(all, conjunction(arg)...)
	}
	return all
}

// resolveCondition resolves a condition that must be true.
func (sc scope) resolveCondition(e ast.Expr) (condition, error) {
	before := len(sc.resolved.subselects)
	x, err := sc.resolveTruth(e)
	return condition{x, len(sc.resolved.subselects) > before}, err
}

// resolveTruth knows of a sub-select that it must be true, so that NULL counts as false there.
func (sc scope) resolveTruth(e ast.Expr) (scalar.Expr, error) {
	if in, ok := e.(*ast.InQuery); ok && !in.Not {
		return sc.inQuery(in, true)
	}
	return sc.Resolver().Boolean(e)
}

// Resolver resolves expressions over the rows of the level, and over others computed from them.
func (sc scope) Resolver() *scalar.Resolver {
	return &scalar.Resolver{
		Constants: sc.shared.Constants, Concealed: sc.resolved.view != "", Params: sc.shared.Params,
		Column: sc.reference, Computed: sc.computed, Condition: sc.subselect, Work: sc.shared.Work,
		Field: func(of, field *scalar.Column, at int) error { return useField(sc, of, field, at) },
	}
}

// reference resolves a column reference of the level, or of the level around it.
func (sc scope) reference(c *ast.Column) (*scalar.Column, error) {
	if sc.ended {
		return nil, errEnded(c)
	}
	if col, ok := sc.pinned[c]; ok {
		sc.mention(col)
		return col, nil
	}
	col, err := sc.lookup(c)
	switch {
	case col != nil || err != nil:
		return col, err
	case sc.outer == nil:
		return nil, sc.frame.unknown(c)
	}
	if col, err = sc.outer.localColumn(c); err == nil && !slices.Contains(sc.outerColumns, col) {
		sc.outerColumns = append(sc.outerColumns, col)
	}
	return col, err
}

// computed returns the expression that a reference stands for, nil if it is a column.
func (sc scope) computed(c *ast.Column) (scalar.Expr, error) {
	if sc.pinned[c] != nil {
		return nil, nil //nolint:nilnil // it is a column
	}
	f, err := sc.frame.field(c)
	if err != nil || f == nil {
		return nil, nil //nolint:nilerr,nilnil // whoever resolves the column returns the error
	}
	return sc.computedField(*f)
}

func (sc scope) computedField(f field) (scalar.Expr, error) {
	switch c := f.computed; {
	case c == nil:
		return nil, nil //nolint:nilnil // likewise
	case sc.ended:
		return nil, errEnded(&ast.Column{Name: f.name})
	case c.of == nil:
		sc.mentionAll(c.x.Columns())
		return c.x, nil
	default:
		return scope{sc.draft, c.in, nil}.Resolver().Expr(c.of)
	}
}

// localColumn resolves a reference that must be of this level.
func (sc scope) localColumn(c *ast.Column) (*scalar.Column, error) {
	col, err := sc.lookup(c)
	if col == nil && err == nil {
		return nil, sc.frame.unknown(c)
	}
	return col, err
}

// lookup returns the column that a reference means, or nil if the frame has none.
func (sc scope) lookup(c *ast.Column) (*scalar.Column, error) {
	col, err := sc.frame.find(c)
	if col != nil {
		sc.mention(col)
	}
	return col, err
}

// mention notes that the block mentions the column, if it is of this level.
func (d *draft) mention(c *scalar.Column) {
	if d.resolved.home[c] != nil {
		d.mentions.add(c)
	}
}

// mentionAll notes columns of a merged query that are used: of a field, the documents as well.
func (d *draft) mentionAll(list []*scalar.Column) {
	for _, c := range list {
		if home := d.resolved.home[c]; home != nil && c.Path != nil {
			d.mention(home.documents(c))
		}
		d.mention(c)
	}
}

// pin gives a reference its meaning.
func (d *draft) pin(ref *ast.Column, c *scalar.Column) *ast.Column {
	d.pinned[ref] = c
	return ref
}
