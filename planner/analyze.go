package planner

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
	"dpproxy/planner/work"
)

// A Query is an analysed statement: every name is resolved, and every node is allowed. It contains no value of a constant, and can be
// cached by its text and the types of its parameters.
type Query struct {
	cat       *policy.Model
	stmt      *parser.Statement
	params    []uint32
	blocks    []*block
	constants *scalar.Constants
	public    []ast.TableRef
	extents   bool // the mirror evaluates bounds of public columns
	lists     []*asked
}

// Names are the names of a model for the parser.
func Names(cat *policy.Model) ast.Names { return source.NewNames(cat) }

// maxFolds bounds the constants of a statement, which the mirror evaluates in one row, together with settings and relations.
const maxFolds = 1_500

// Analyze resolves a statement of class Release or Explain; params are the types of its parameters. Its errors are *pgerr.Error, with
// positions in the text of the statement, or the cause of the end of the meter's context.
func Analyze(m *work.Meter, cat *policy.Model, stmt *parser.Statement, params []uint32) (*Query, error) {
	q := &Query{cat: cat, stmt: stmt, params: params, constants: &scalar.Constants{}}
	st := &source.Statement{Model: cat, Constants: q.constants, Params: params, Work: m}
	err := q.analyze(st)
	if spent := m.Err(); spent != nil {
		return nil, spent
	}
	if err != nil {
		return nil, err
	}
	st.Work = nil // the query is kept: what is asked of it later is not the work of who asked first, and does not end with it
	return q, nil
}

func (q *Query) analyze(st *source.Statement) error {
	for _, b := range q.stmt.Blocks {
		if b.Err != nil {
			return b.Err
		}
		rb, err := q.block(st, b)
		if err != nil && b.Concealed != "" {
			err = parser.ConcealedRefusal(b.Concealed).At(b.At)
		}
		if err != nil {
			return err
		}
		q.blocks = append(q.blocks, rb)
	}
	q.noteComputed(q.stmt.Outputs)
	q.title(q.stmt.Outputs)
	if n := len(q.Folds()); n > maxFolds {
		return pgerr.New(pgerr.ProgramLimitExceeded, "the statement has %d constants, at most %d are allowed", n, maxFolds).
			WithHint("Split the statement, or write what belongs together as one list: x IN (1, 2, 3), or x = ANY (ARRAY[1, 2, 3]).")
	}
	return nil
}

// Folds returns the constants that the mirror has to evaluate, in order.
func (q *Query) Folds() []scalar.Fold { return q.constants.Folds() }

// Check compares the types of the values of constants with the expected types. The answers to [Query.Lists] may come after them.
func (q *Query) Check(values []scalar.Value) error {
	return q.constants.Check(values[:min(len(values), len(q.Folds()))])
}

// Public returns the public relations that the blocks name, as the client wrote them. In the session they must resolve to the relations of
// the policy.
func (q *Query) Public() []ast.TableRef { return q.public }

// Tables returns each protected table that a read of the statement touches, including tables on paths to the unit, and views.
func (q *Query) Tables() []catalog.Name {
	return slices.DeleteFunc(q.Relations(), func(n catalog.Name) bool { t := q.cat.Table(n); return t != nil && t.Public })
}

// Relations returns all relations that the reads name: Tables and public tables.
func (q *Query) Relations() []catalog.Name {
	var names []catalog.Name
	for _, b := range q.blocks {
		if !b.reads() {
			continue
		}
		b.source.EachTable(func(t *policy.Table, _ string) {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		})
	}
	if len(names) > 0 {
		for _, t := range q.stmt.Protected {
			if n := (catalog.Name{Schema: t.Resolved.Schema, Name: t.Resolved.Name}); t.Resolved.View != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func (q *Query) block(st *source.Statement, b *ast.Block) (*block, error) {
	rows, err := source.Resolve(st, b)
	if err != nil {
		return nil, err
	}
	b = rows.Block
	if !rows.Protected() {
		return nil, pgerr.New(pgerr.Internal, "a release block without a protected table").At(b.At)
	}
	out := &block{
		sets: b.Sets, groupings: b.Groupings, counts: b.Counts, summed: b.Summed, present: b.Present, running: b.Running, at: b.At,
	}
	r := rows.Resolver()
	for _, e := range b.Groups {
		k, err := newKey(r, e)
		if err != nil {
			return nil, err
		}
		out.keys = append(out.keys, k)
	}
	if out.sets == nil {
		all := make([]int, len(out.keys))
		for i := range all {
			all[i] = i
		}
		out.sets = [][]int{all}
	}
	for _, a := range b.Aggregates {
		agg, err := newAggregate(r, rows, a)
		if err != nil {
			return nil, err
		}
		out.aggregates = append(out.aggregates, agg)
	}
	for _, e := range b.Offsets {
		x, err := r.Whole(e)
		if err != nil {
			return nil, err
		}
		out.offsets = append(out.offsets, x)
	}
	for _, e := range b.Having {
		if x, err := r.Boolean(e); err == nil { // HAVING is evaluated above the block: here it only spares the read
			out.having = append(out.having, x)
		}
	}
	if out.top, err = newTopClause(r, b.Top); err != nil {
		return nil, err
	}
	q.public = append(q.public, rows.PublicRefs()...)
	out.source = rows.Source()
	en := &enumeration{keys: out.keys, source: out.source, constants: q.constants, timeZones: q.cat.TimeZones(), work: st.Work}
	err = en.run()
	out.factors, out.lists, out.constants = en.factors, map[string]*asked{}, q.constants
	q.ask(out)
	askConditions(q, out)
	if err == nil && addExtents(out) {
		q.extents = true
	}
	return out, err
}

// Untold returns the relations whose names must not be shown, including tables on paths to the unit and public tables.
func (q *Query) Untold() Untold {
	u, told := Untold{}, Untold{}
	u.refs(q.stmt, told)
	for _, b := range q.blocks {
		b.source.EachTable(func(t *policy.Table, view string) {
			u.note(t.Name, view, told)
			u.note(q.cat.Whole(t).Name, view, told)
		})
	}
	return u.but(told)
}
