package property_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// planned is a statement that the planner takes.
type planned struct {
	w      *world
	stmt   *parser.Statement
	query  *planner.Query
	plan   *planner.Plan
	values []scalar.Value
	// inexact says that it uses released results that are not Postgres's own, without noise either: an extreme is of a bucket, or NULL of
	// few rows, a sum on a lattice.
	inexact bool
}

var (
	// errNoRelease is returned for a statement that reads nothing protected.
	errNoRelease = errors.New("nothing is released")
	// errConstants is returned for constants that Postgres raises at, as for 1/0.
	errConstants = errors.New("constants")
)

// dataException is the class of SQLSTATE of values that nothing can be computed of.
const dataException = "22"

// plan plans a statement; its constants are evaluated by the database itself.
func (w *world) plan(sql string, change func(*planner.Settings)) (*planned, error) {
	script, err := parser.Parse(sql, planner.Names(w.cat))
	if err != nil {
		return nil, err
	}
	if len(script.Statements) == 0 {
		return nil, errNoRelease
	}
	st := script.Statements[0]
	if st.Class == parser.Refused {
		return nil, st.Refusal
	}
	if st.Class != parser.Release {
		return nil, errNoRelease
	}
	if st.Let != nil {
		return w.let(st, change)
	}
	p := &planned{w: w, stmt: st}
	if p.query, err = planner.Analyze(nil, w.cat, st, nil); err != nil {
		return nil, err
	}
	if p.values, err = w.constants(p.query); err != nil {
		return nil, err
	}
	s := planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1_000_000_000, Mechanism: "gaussian", Alpha: 0.05, ShowSmallGroups: true,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000, PublicRows: w.publicRows},
	}
	change(&s)
	p.plan, err = p.query.Specialize(nil, p.values, s)
	return p, err
}

// let plans the body of a statement with the results of its bindings, without noise. They are constants: of the data with one unit less
// it asks the same.
func (w *world) let(st *parser.Statement, change func(*planner.Settings)) (*planned, error) {
	var results []parser.Constants
	inexact := false
	for _, binding := range st.Let.Bindings {
		sql := binding.Query(results).SQL
		exact, raised := w.query(sql)
		res := exact
		p, err := w.plan(sql, change)
		switch {
		case errors.Is(err, errNoRelease):
			err = raised
		case err == nil:
			res, err = p.released()
			inexact = inexact || raised != nil || !holds(res, exact)
		}
		if err != nil {
			return nil, err
		}
		r := parser.Result{Rows: res.Rows}
		for _, f := range res.FieldDescriptions {
			t, _ := pgtype.OfParameter(f.DataTypeOID)
			r.Names, r.Types = append(r.Names, f.Name), append(r.Types, t.SQL())
		}
		results = append(results, binding.Constants(r))
	}
	p, err := w.plan(st.Let.Body(results).SQL, change)
	if err == nil {
		p.inexact = inexact
	}
	return p, err
}

// released is the answer without noise.
func (p *planned) released() (*pgconn.Result, error) {
	sql, err := p.spliced()
	if err != nil {
		return nil, err
	}
	res, err := p.w.query(sql)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	return res, nil
}

// holds reports whether a result has all rows of another one. A public group without rows is one more.
func holds(res, of *pgconn.Result) bool {
	rows := map[string]int{}
	for _, row := range res.Rows {
		rows[written(res, row)]++
	}
	for _, row := range of.Rows {
		if rows[written(of, row)]--; rows[written(of, row)] < 0 {
			return false
		}
	}
	return true
}

// written joins the cells of a row as keys are shown.
func written(res *pgconn.Result, row [][]byte) string {
	cells := make([]string, len(row))
	for i, c := range row {
		cells[i] = null
		if c != nil {
			cells[i] = canonical(res.FieldDescriptions[i], string(c))
		}
	}
	return fmt.Sprintf("%q", cells)
}

// constants evaluates the column-free expressions of a statement.
func (w *world) constants(q *planner.Query) ([]scalar.Value, error) {
	cols, from := scalar.Evaluation(q.Folds())
	var formats []int16
	for _, f := range q.Folds() {
		format := int16(1)
		if f.Type.Enum.Name != "" {
			format = 0 // its OID is another one in the protected database
		}
		formats = append(formats, format)
	}
	if len(cols) == 0 {
		return w.lists(q, nil)
	}
	res := w.client.PgConn().ExecParams(context.Background(), "SELECT "+strings.Join(cols, ", ")+from, nil, nil, nil, formats).Read()
	if raised, ok := errors.AsType[*pgconn.PgError](res.Err); ok && strings.HasPrefix(raised.Code, dataException) {
		return nil, fmt.Errorf("%w: %w", errConstants, raised)
	}
	if res.Err != nil {
		return nil, fmt.Errorf("constants: %w", res.Err)
	}
	var values []scalar.Value
	for i, f := range res.FieldDescriptions {
		values = append(values, scalar.Value{OID: f.DataTypeOID, Binary: f.Format == 1, Bytes: res.Rows[0][i]})
	}
	return w.lists(q, values)
}

// lists appends the lists of grouping keys to the values of constants.
func (w *world) lists(q *planner.Query, values []scalar.Value) ([]scalar.Value, error) {
	asked, err := q.Lists(nil, values)
	if err != nil {
		return nil, err
	}
	out := append(slices.Clip(values), make([]scalar.Value, len(asked))...)
	sql := planner.ListsSQL(asked, false)
	if sql == "" {
		return out, nil
	}
	params, oids, formats := q.Parameters(values, false)
	res := w.client.PgConn().ExecParams(context.Background(), sql, params, oids, formats, nil).Read()
	if res.Err != nil {
		return nil, fmt.Errorf("lists: %w\n%s", res.Err, sql)
	}
	for i, cell := range res.Rows[0] {
		if cell != nil {
			out[len(values)+i].Bytes = cell
		}
	}
	return out, nil
}

// A reading is the result of a plan's reads, by block and grouping set.
type reading [][]*plantest.Exact

// exact reads the aggregates of the plan, without noise.
func (p *planned) exact() (reading, error) {
	var out reading
	for _, b := range p.plan.Blocks {
		sets := plantest.NewExacts(b)
		for i, set := range b.Sets {
			e := sets[i]
			for _, read := range set.Reads {
				err := e.AddAll(read, func(st planner.Statement, results []int16) ([][][]byte, error) {
					params, formats := p.params(st.Params)
					res := p.w.conn.PgConn().ExecParams(context.Background(), st.SQL, params, nil, formats, results).Read()
					return res.Rows, res.Err
				})
				if err != nil {
					return nil, fmt.Errorf("%w\n%s", err, read.SQL)
				}
			}
		}
		out = append(out, sets)
	}
	return out, nil
}

var inner, outer = plantest.Pads()

func (p *planned) params(list []planner.Param) (params [][]byte, formats []int16) {
	for _, prm := range list {
		value, format := []byte(prm.Text), int16(0)
		switch prm.Kind {
		case planner.FoldParam:
			value = p.values[prm.Fold].Bytes
			if p.values[prm.Fold].Binary {
				format = 1
			}
		case planner.InnerPadParam:
			value, format = inner, 1
		case planner.OuterPadParam:
			value, format = outer, 1
		case planner.TextParam:
		}
		params, formats = append(params, value), append(formats, format)
	}
	return params, formats
}

// spliced is the statement with its blocks replaced by released relations, without
// noise and with all groups that occur.
func (p *planned) spliced() (string, error) {
	exact, err := p.exact()
	if err != nil {
		return "", err
	}
	arrays := make([][]string, len(p.plan.Blocks))
	for i, b := range p.plan.Blocks {
		var released []*planner.Released
		for _, e := range exact[i] {
			released = append(released, e.Released(e.Uncut()))
		}
		arrays[i] = b.Columns(released)
	}
	return p.stmt.Splice(func(block int) string {
		return p.query.Relation(block, func(col int) string { return ast.Quote(arrays[block][col]) })
	}), nil
}
