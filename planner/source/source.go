package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A Source is FROM and WHERE of one level, resolved: rows that each belong to exactly
// one privacy unit, known by a hidden column that is followed by provenance.
//
// It is built in one pass over the tree and then proved in [Source.finish]: every two protected relations are joined on the unit, and
// every one that could multiply the rows of a unit is cut.
type Source struct {
	b     *builder
	root  node
	frame frame
	// relations are the relations of this level, in order; hidden ones of paths are
	// below their scan.
	relations []*relation
	home      map[*scalar.Column]*relation
	where     []condition
	semijoins []*semijoin
	// outer is the level that the WHERE of a semi-join may refer to; nil otherwise.
	outer *Source
	// pinned are references whose meaning is known without a name.
	pinned map[*ast.Column]*scalar.Column
	// foreign are the columns of outer that are mentioned; ties make some equal to
	// columns of this level, in this order: ours, theirs.
	foreign []*scalar.Column
	ties    []pair
	// match is what IN compares, nil elsewhere.
	match scalar.Expr
	// unmatched says that rows on which match is NULL are read as well: it proves nothing.
	unmatched bool
	mentions  []*scalar.Column
	declares  bool
	// inside says that the level is below a sub-select of a condition.
	inside bool
	// view is the view that the level is of, if no analyst may see its query.
	view string

	// What finish has proved.
	finished bool
	equal    []pair // of plain columns, on every row
	classes  *classes
	owner    *relation
	deps     *funcDeps
}

// A builder makes the levels of one block.
type builder struct {
	model     *policy.Model
	constants *scalar.Constants
	params    []uint32 // types of the statement's parameters
	// public are the public relations that are named, as the statement wrote them.
	public []ast.TableRef
	// aliases counts the relations of all levels.
	aliases int
	// inside counts the sub-selects of conditions around the level that is built; view is
	// the view around it whose query no analyst may see.
	inside int
	view   string
	// conceals says that there is such a view in the block.
	conceals bool
}

// maxRelations bounds the relations of one block, those of paths to the unit included.
const maxRelations = 64

// A node is an item of FROM, resolved: *relation or *joined.
//
//sumtype:decl
type node interface{ node() }

// A joined is a join of two items; RIGHT is a mirrored LEFT.
type joined struct {
	left, right node
	on          []condition
	// outer says that rows of left without a match stay, with NULL on the right.
	outer bool
	// declares says that it was written as an outer join whose left side is public: its
	// rows without a match show keys and hold no protected row, so that they are
	// never read.
	declares bool
}

func (*relation) node() {}
func (*joined) node()   {}

// A condition holds on every row of its level, or of its join.
type condition struct {
	x scalar.Expr
	// query says that there is a sub-select in it.
	query bool
}

// Resolve resolves FROM and WHERE of a block and proves whose its rows are. Constants of the block
// are added to those given; params are the types of the statement's parameters. Its errors are
// *pgerr.Error with positions in the statement's text.
func Resolve(model *policy.Model, constants *scalar.Constants, params []uint32, block *ast.Block) (*Source, error) {
	b := &builder{model: model, constants: constants, params: params, conceals: block.Concealed != "", view: block.Concealed}
	s := newSource(b)
	return s, s.build(block.From, block.Where)
}

func newSource(b *builder) *Source {
	return &Source{b: b, inside: b.inside > 0, view: b.view, home: map[*scalar.Column]*relation{}, pinned: map[*ast.Column]*scalar.Column{}}
}

func (s *Source) build(from ast.From, where ast.Expr) error {
	if err := s.resolveFrom(from); err != nil {
		return err
	}
	if err := s.resolveWhere(where); err != nil {
		return err
	}
	return s.finish()
}

func (s *Source) resolveFrom(f ast.From) (err error) {
	s.root, s.frame, err = s.resolveItem(f)
	return err
}

func (s *Source) resolveWhere(where ast.Expr) error {
	for _, e := range conjunction(where) {
		c, err := s.resolveCondition(e)
		if err != nil {
			return err
		}
		if err := s.correlation(c.x); err != nil {
			return err
		}
		s.where = append(s.where, c)
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
func (s *Source) resolveCondition(e ast.Expr) (condition, error) {
	before := len(s.semijoins)
	x, err := s.resolveTruth(e)
	return condition{x, len(s.semijoins) > before}, err
}

// resolveTruth knows of a sub-select that it must be true, so that NULL counts as false there.
func (s *Source) resolveTruth(e ast.Expr) (scalar.Expr, error) {
	if in, ok := e.(*ast.InQuery); ok && !in.Not {
		return s.inQuery(in, true)
	}
	return s.Resolver().Boolean(e)
}

// Resolver resolves expressions of this level, and of what is computed from its rows.
func (s *Source) Resolver() *scalar.Resolver {
	return &scalar.Resolver{Constants: s.b.constants, Concealed: s.view != "", Params: s.b.params, Column: s.reference, Condition: s.subselect}
}

// finish proves what the rows are. Nothing is decided about rows before all equalities
// are known.
func (s *Source) finish() error {
	where := s.where
	if s.match != nil && !s.unmatched {
		where = append(slices.Clone(where), condition{x: s.match})
	}
	s.equal = s.withMatches(slices.Concat(holds(s.root), equalities(where)), s.root)
	if err := s.findOwner(); err != nil {
		return err
	}
	s.finished = true
	for _, j := range s.semijoins {
		if err := j.checkSameUnit(s); err != nil {
			return err
		}
	}
	s.deps = s.dependencies()
	return s.boundJoins()
}

// Protected reports whether protected rows are read; without any there is no unit.
func (s *Source) Protected() bool { return s.owner != nil }

// Unit returns the hidden column that identifies the privacy unit of each row.
func (s *Source) Unit() *scalar.Column { return s.owner.unitColumn() }

// DeclaresKeys reports whether a public relation was LEFT JOINed with protected ones:
// its rows without a match are dropped on DATA.
func (s *Source) DeclaresKeys() bool { return s.declares }

// Used returns the columns that were mentioned anywhere in the level so far, in order of
// appearance.
func (s *Source) Used() []*scalar.Column { return s.mentions }

// Conjuncts returns the conditions that hold on every row, those of an outer join that
// declares keys included.
func (s *Source) Conjuncts() []scalar.Expr {
	return slices.Concat(conditionsOf(s.root), exprs(s.where))
}

func conditionsOf(n node) []scalar.Expr {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	if j.outer || j.declares {
		return conditionsOf(j.left)
	}
	return slices.Concat(conditionsOf(j.left), conditionsOf(j.right), exprs(j.on))
}

func exprs(conds []condition) []scalar.Expr {
	out := make([]scalar.Expr, len(conds))
	for i, c := range conds {
		out[i] = c.x
	}
	return out
}

// EachTable visits the tables of this level and of those below it, those on paths to the unit
// included; view is the view of their level, if no analyst may see its query.
func (s *Source) EachTable(visit func(t *policy.Table, view string)) {
	s.eachRelation(func(level *Source, r *relation) { visit(r.table, level.view) })
}

// PublicRefs returns the public relations that the block names, as the statement wrote them.
func (s *Source) PublicRefs() []ast.TableRef { return s.b.public }

// Concealing reports whether the block reads a view whose query no analyst may see.
func (s *Source) Concealing() bool { return s.b.conceals }

// Inlined returns the constants as text about the block can hold them.
func (s *Source) Inlined() scalar.Inlined { return s.b.constants.Inlined(s.b.conceals) }

// OneOfEach returns the first column of each relation of the level that the block uses.
func (s *Source) OneOfEach() []*scalar.Column {
	var list []*scalar.Column
	var seen []*relation
	for _, c := range s.mentions {
		if home := s.home[c]; home != nil && !slices.Contains(seen, home) {
			seen, list = append(seen, home), append(list, c)
		}
	}
	return list
}

// Computed visits every expression that is computed for a row of the level or of one below it, and
// every column that their rows are told apart by.
func (s *Source) Computed(expr func(...scalar.Expr), column func(*scalar.Column)) {
	expr(exprs(s.where)...)
	expr(s.match)
	computedInJoins(s.root, expr)
	for _, c := range s.mentions {
		column(c)
	}
	for _, r := range s.relations {
		for _, b := range r.branches() {
			expr(b.keys...)
			expr(b.having)
			if b.distinct {
				expr(b.targets...)
			}
			b.source.Computed(expr, column)
		}
	}
	for _, j := range s.semijoins {
		j.inner.Computed(expr, column)
	}
}

func computedInJoins(n node, expr func(...scalar.Expr)) {
	if j, ok := n.(*joined); ok {
		expr(exprs(j.on)...)
		computedInJoins(j.left, expr)
		computedInJoins(j.right, expr)
	}
}

// eachRelation visits the relations that are tables, likewise, with their levels.
func (s *Source) eachRelation(visit func(level *Source, r *relation)) {
	for _, r := range s.relations {
		if r.rows == nil {
			visit(s, r)
		}
		for _, h := range r.hops {
			visit(s, h)
		}
		for _, b := range r.branches() {
			b.source.eachRelation(visit)
		}
	}
	for _, j := range s.semijoins {
		j.inner.eachRelation(visit)
	}
}

// MaxRows returns the largest max_rows that a protected table of FROM declares; 0 without.
func (s *Source) MaxRows() int64 {
	most := int64(0)
	for _, r := range s.relations {
		most = max(most, r.maxRows())
	}
	return most
}

// MaxPartitions returns the largest max_partitions that a protected table of FROM
// declares; 0 without.
func (s *Source) MaxPartitions() int64 {
	most := int64(0)
	for _, r := range s.relations {
		if r.table != nil {
			most = max(most, r.table.MaxPartitions)
		}
		for _, b := range r.branches() {
			most = max(most, b.source.MaxPartitions())
		}
	}
	return most
}

// IsPublic reports whether a column is of a public relation of this level.
func (s *Source) IsPublic(c *scalar.Column) bool {
	r := s.home[c]
	return r != nil && !r.protected()
}

// OfUnit reports whether a column is of a protected relation of this level.
func (s *Source) OfUnit(c *scalar.Column) bool {
	r := s.home[c]
	return r != nil && r.protected()
}

// noteUse notes that the block mentions the column, if it is of this level.
func (s *Source) noteUse(c *scalar.Column) {
	if r := s.home[c]; r != nil && !r.mentioned[c] {
		r.mentioned[c] = true
		s.mentions = append(s.mentions, c)
	}
}

// notHere refuses a clause or relation inside a block.
func notHere(at int, hint, format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, format, args...).At(at).WithHint("%s", hint)
}

// ScannedTable returns the table whose rows are all that the level reads, or nil: a join, a
// derived table, a path to the unit and a sub-select read more.
func (s *Source) ScannedTable() *policy.Table {
	r, ok := s.root.(*relation)
	if !ok || r.rows != nil || r.rowsPerUnit > 0 || len(r.hops) > 0 || len(s.semijoins) > 0 {
		return nil
	}
	return r.table
}

// mentioned reports whether the block mentions a column of the level.
func (p *sourceWriter) mentioned(c *scalar.Column) bool { return p.level.home[c].mentioned[c] }

// hops are the tables of the path to the unit that the statement does not have itself.
func (p *sourceWriter) hops(r *relation) []*relation { return r.joins() }

// followed reports whether the statement joins a table along its path.
func (p *sourceWriter) followed(r *relation) bool { return r.follows != nil }

// rowsPerUnit bounds the rows of a unit before they are joined; 0 keeps all.
func (p *sourceWriter) rowsPerUnit(r *relation) int64 { return r.rowsPerUnit }

// writtenUnit is the column of the unit as SQL around the relation has it.
func (p *sourceWriter) writtenUnit(r *relation) *scalar.Column { return r.unit }
