package planner

import (
	"fmt"
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A Query is an analysed statement: every name is resolved and every node is
// allowed. It holds no value of any parameter and can be cached by text.
type Query struct {
	cat    *Catalog
	stmt   *parser.Statement
	blocks []*block
	folds  []Fold

	constants *scalar.Constants
	params    []uint32
}

// A Fold is a column-free expression of a block, printed by us. It is evaluated
// once on the mirror, in the analyst's session; only its value goes further.
type Fold struct {
	SQL string
	at  int
}

// block is one release block, resolved.
type block struct {
	table   *table
	where   pred // nil if none
	groups  []group
	outputs []output
	// measures are what is read from the database, each once.
	measures []measure
	// used are the columns that the block mentions, in order of appearance.
	used []*column
	// grouped says that there is a GROUP BY, even of nothing.
	grouped bool
}

// group is one grouping column with the public values it may show.
type group struct {
	col    *column
	domain []string
	// null says that NULL is shown as well.
	null bool
}

// Limits on the size of one statement.
const (
	maxGroups = 10_000 // rows of a released relation
	maxFolds  = 1_000  // constants in a statement
)

// Analyze resolves a statement of class Release or Explain. Its errors are
// *pgerr.Error with positions in the statement's text.
func Analyze(cat *Catalog, stmt *parser.Statement) (*Query, error) {
	q := &Query{cat: cat, stmt: stmt}
	for _, b := range stmt.Blocks {
		if b.Err != nil {
			return nil, b.Err
		}
		rb, err := q.block(b)
		if err != nil {
			return nil, err
		}
		q.blocks = append(q.blocks, rb)
	}
	if len(q.folds) > maxFolds {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the statement has %d constants, at most %d are allowed", len(q.folds), maxFolds)
	}
	return q, nil
}

// Folds returns the constants to be evaluated on the mirror, in order.
func (q *Query) Folds() []Fold { return q.folds }

// Tables returns the protected tables that the statement's reads touch, path
// tables included, each once.
func (q *Query) Tables() []catalog.Name {
	var names []catalog.Name
	seen := map[catalog.Name]bool{}
	add := func(n catalog.Name) {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	for _, b := range q.blocks {
		if !b.reads() {
			continue
		}
		add(b.table.name)
		for _, s := range b.table.unit.steps {
			add(s.to.name)
		}
	}
	return names
}

// reads reports whether the block needs protected rows at all: without an
// aggregate, a public domain is shown and nothing is read.
func (b *block) reads() bool { return len(b.measures) > 0 }

func (q *Query) block(b *parser.Block) (*block, error) {
	r := &resolver{q: q, block: &block{grouped: b.Grouped}}
	from, ok := b.From.(*parser.Table)
	if !ok {
		return nil, pgerr.New(pgerr.Ownership, "only one protected table can be read at a time").At(b.At).
			WithHint("Ask for each table in a statement or sub-select of its own; the path to the privacy unit is added for you.")
	}
	r.from = from
	r.block.table = q.cat.tables[catalog.Name{Schema: from.Ref.Resolved.Schema, Name: from.Ref.Resolved.Name}]
	if r.block.table == nil || r.block.table.public {
		return nil, pgerr.New(pgerr.Internal, "a release block without a protected table").At(b.At)
	}
	if err := r.groups(b.Groups); err != nil {
		return nil, err
	}
	if b.Where != nil {
		w, err := r.predicate(b.Where)
		if err != nil {
			return nil, err
		}
		r.block.where = w
		r.dropNullGroups(w)
	}
	for _, a := range b.Aggregates {
		if err := r.aggregate(a); err != nil {
			return nil, err
		}
	}
	if err := r.contributions(b); err != nil {
		return nil, err
	}
	return r.block, nil
}

// resolver resolves the names of one block.
type resolver struct {
	q     *Query
	from  *parser.Table
	block *block
}

// column resolves a column reference of the block.
func (r *resolver) column(c *parser.Column) (*column, error) {
	t := r.block.table
	if c.Qualifier != "" && c.Qualifier != r.from.Alias || c.Schema != "" && c.Schema != t.name.Schema {
		return nil, pgerr.New(pgerr.NotAllowed, "%q does not name the protected table of this block", c.Qualifier).At(c.At)
	}
	for i := range t.columns {
		col := &t.columns[i]
		if col.Name != c.Name {
			continue
		}
		if col.hidden {
			return nil, pgerr.New(pgerr.HiddenColumn, "column %q is hidden by the privacy policy", c.Name).At(c.At).
				WithHint("It can be described but not used. Use another column.")
		}
		r.use(col)
		return col, nil
	}
	return nil, pgerr.New(pgerr.NotAllowed, "%q is no column of %s that can be used on protected data", c.Name, t.name).At(c.At).
		WithHint("Name one of the table's own columns; system columns and whole rows are not available.")
}

func (r *resolver) use(col *column) {
	if !slices.Contains(r.block.used, col) {
		r.block.used = append(r.block.used, col)
	}
}

func (r *resolver) groups(exprs []parser.Expr) error {
	rows := 1
	for _, e := range exprs {
		ref, ok := e.(*parser.Column)
		if !ok {
			return pgerr.New(pgerr.PrivateGroupKey, "grouping by an expression is not supported on protected data").At(e.Pos()).
				WithHint("Group by a column that has declared values.")
		}
		col, err := r.column(ref)
		if err != nil {
			return err
		}
		if col.domain == nil {
			return pgerr.New(pgerr.PrivateGroupKey, "column %q has no public values to group by", col.Name).At(ref.At).
				WithHint("Which values occur is itself protected. The administrator can declare values for %s.%s in the policy.", r.block.table.name, col.Name)
		}
		g := group{col, col.domain, !col.NotNull}
		r.block.groups = append(r.block.groups, g)
		if rows *= g.size(); rows > maxGroups {
			return pgerr.New(pgerr.ProgramLimitExceeded, "the statement has more than %d groups", maxGroups).At(ref.At).
				WithHint("Group by fewer columns.")
		}
	}
	return nil
}

func (g *group) size() int {
	if g.null {
		return len(g.domain) + 1
	}
	return len(g.domain)
}

// dropNullGroups leaves NULL out of the shown keys where a conjunct of WHERE
// excludes it for every possible row: a fact of the statement alone.
func (r *resolver) dropNullGroups(w pred) {
	for _, conjunct := range conjuncts(w) {
		for i := range r.block.groups {
			if excludesNull(conjunct, r.block.groups[i].col) {
				r.block.groups[i].null = false
			}
		}
	}
}

// contributions refuses a block whose contributions nothing bounds.
func (r *resolver) contributions(b *parser.Block) error {
	t := r.block.table
	if !r.block.reads() || t.oneRow || t.maxRows > 0 {
		return nil
	}
	return pgerr.New(pgerr.NoContribution, "the policy does not bound how many rows of %s one %s may contribute", t.name, r.q.cat.unit).At(b.At).
		WithHint("The administrator can set max_rows for %s.", t.name)
}

// l0 bounds the partitions that one unit touches.
func (b *block) l0() int64 {
	size := int64(b.size())
	switch m := b.table.maxPartitions; {
	case b.table.oneRow:
		return 1
	case m > 0:
		return min(m, size)
	}
	return size
}

// rows bounds the rows of one unit in one partition.
func (b *block) rows() int64 {
	if b.table.oneRow {
		return 1
	}
	return b.table.maxRows
}

// size returns the number of rows of the released relation.
func (b *block) size() int {
	n := 1
	for i := range b.groups {
		n *= b.groups[i].size()
	}
	return n
}

func (q *Query) fold(sql string, at int) int {
	for i, f := range q.folds {
		if f.SQL == sql {
			return i
		}
	}
	q.folds = append(q.folds, Fold{sql, at})
	return len(q.folds) - 1
}

// notSupported refuses an expression over protected columns.
func notSupported(what string, at int) error {
	return pgerr.New(pgerr.NotAllowed, "%s is not allowed on protected data", what).At(at).
		WithHint("Compare a column with constants: = <> < <= > >=, IN, BETWEEN, LIKE, IS NULL, combined with AND, OR, NOT.")
}

// describe names an expression in a refusal.
func describe(e parser.Expr) string {
	switch e := e.(type) { //nolint:gochecksumtype // the others have no name that helps
	case *parser.Func:
		return fmt.Sprintf("the function %s()", e.Name)
	case *parser.Op:
		return fmt.Sprintf("the operator %s over columns", e.Name)
	case *parser.Cast:
		return "a cast of a column"
	}
	return "this expression"
}
