package property_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
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
}

// errNoRelease is returned for a statement that reads nothing protected.
var errNoRelease = errors.New("nothing is released")

// plan plans a statement; its constants are evaluated by the database itself.
func (w *world) plan(sql string) (*planned, error) {
	script, err := parser.Parse(sql, w.cat)
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
	p := &planned{w: w, stmt: st}
	if p.query, err = planner.Analyze(w.cat, st, nil); err != nil {
		return nil, err
	}
	if p.values, err = w.constants(p.query); err != nil {
		return nil, err
	}
	p.plan, err = p.query.Specialize(p.values, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1_000_000_000, Mechanism: "gaussian", Alpha: 0.05, ShowSmallGroups: true,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000, PublicRows: w.publicRows},
	})
	return p, err
}

// constants evaluates the column-free expressions of a statement.
func (w *world) constants(q *planner.Query) ([]scalar.Value, error) {
	var cols []string
	var formats []int16
	for _, f := range q.Folds() {
		cols = append(cols, "("+f.SQL+")")
		format := int16(1)
		if f.Type.Enum.Name != "" {
			format = 0 // its OID is another one in the protected database
		}
		formats = append(formats, format)
	}
	if len(cols) == 0 {
		return nil, nil
	}
	res := w.client.PgConn().ExecParams(context.Background(), "SELECT "+strings.Join(cols, ", "), nil, nil, nil, formats).Read()
	if res.Err != nil {
		return nil, fmt.Errorf("constants: %w", res.Err)
	}
	var values []scalar.Value
	for i, f := range res.FieldDescriptions {
		values = append(values, scalar.Value{OID: f.DataTypeOID, Binary: f.Format == 1, Bytes: res.Rows[0][i]})
	}
	return values, nil
}

// A vector is released with one event: a statistic of a grouping set, or one level of it, or
// the numbers of units that selection looks at.
type vector struct {
	block, set, first, level int
}

// units is the first of a vector of numbers of units.
const units = planner.Units

// An answer holds exact aggregates: of each vector, an integer by coordinate.
type answer map[vector]map[string]*big.Int

// sensitivity returns the declared sensitivity of a vector.
func (p *planned) sensitivity(v vector) dp.Sensitivity {
	set := p.plan.Blocks[v.block].Sets[v.set]
	if v.first == units {
		return sensitivityOf(set.Selection.Event())
	}
	return p.measure(v).Sensitivity
}

func sensitivityOf(e dp.Event) dp.Sensitivity {
	switch e := e.(type) { //nolint:gochecksumtype // selection has these
	case dp.ApproximateEvent:
		return sensitivityOf(e.Of)
	case dp.GaussianEvent:
		return e.Sensitivity
	}
	return dp.Sensitivity{}
}

func (p *planned) measure(v vector) planner.Statistic {
	all := p.plan.Blocks[v.block].Sets[v.set].Statistics()
	return all[slices.IndexFunc(all, func(m planner.Statistic) bool { return m.First == v.first })]
}

// kind names a vector for the statistics of the sensitivities that were reached.
func (p *planned) kind(v vector) string {
	if v.first == units {
		return "units of private groups"
	}
	name, _, _ := strings.Cut(p.measure(v).Name, " from ")
	words := strings.Fields(name)
	return strings.Join(words[:min(2, len(words))], " ") + centred(p.measure(v).Name)
}

func centred(name string) string {
	if strings.Contains(name, "from the middle") {
		return " from the middle"
	}
	return ""
}

// exact reads the aggregates of the plan, without noise.
func (p *planned) exact() (answer, error) {
	a := answer{}
	err := p.readIntegers(func(block, set int, keys [][]byte, cell planner.Cell, n *big.Int) {
		v, coordinate := p.place(block, set, cell.At)
		if a[v] == nil {
			a[v] = map[string]*big.Int{}
		}
		a[v][string(bytes.Join(texts(keys), []byte("\x00")))+coordinate] = n
	})
	return a, err
}

// place finds the vector that an integer belongs to, and its coordinate within a
// partition.
func (p *planned) place(block, set, at int) (v vector, coordinate string) {
	v = vector{block, set, at, 0}
	for _, m := range p.plan.Blocks[block].Sets[set].Statistics() {
		first := m.First
		for level, n := range m.Levels {
			if at >= first && at < first+n {
				return vector{block, set, m.First, level}, fmt.Sprint("\x01", at)
			}
			first += n
		}
	}
	return v, ""
}

// texts tells NULL from a text.
func texts(keys [][]byte) [][]byte {
	out := make([][]byte, len(keys))
	for i, k := range keys {
		if k == nil {
			out[i] = []byte("\x02")
		} else {
			out[i] = append([]byte("="), k...)
		}
	}
	return out
}

// readIntegers reads everything and hands over integer by integer.
func (p *planned) readIntegers(take func(block, set int, keys [][]byte, cell planner.Cell, n *big.Int)) error {
	for i, b := range p.plan.Blocks {
		for j, set := range b.Sets {
			for _, read := range set.Reads {
				params, formats := p.params(read.Params)
				res, err := query(p.w.conn, read.SQL, params, formats)
				if err != nil {
					return fmt.Errorf("%w\n%s", err, read.SQL)
				}
				for _, row := range res.Rows {
					keys, cells, ok := read.Parse(row)
					if !ok {
						return fmt.Errorf("a read returns %q\n%s", row, read.SQL)
					}
					for _, c := range cells {
						n, ok := new(big.Int).SetString(string(c.Text), 10)
						if !ok {
							return fmt.Errorf("a read returns %q\n%s", row, read.SQL)
						}
						take(i, j, keys, c, n)
					}
				}
			}
		}
	}
	return nil
}

var pad = sha256.Sum256([]byte("a secret"))

func (p *planned) params(list []planner.Param) (params [][]byte, formats []int16) {
	for _, prm := range list {
		value, format := []byte(prm.Text), int16(0)
		switch prm.Kind {
		case planner.FoldParam:
			value = p.values[prm.Fold].Bytes
			if p.values[prm.Fold].Binary {
				format = 1
			}
		case planner.InnerPadParam, planner.OuterPadParam:
			value, format = append(pad[:], pad[:]...), 1
		case planner.TextParam:
		}
		params, formats = append(params, value), append(formats, format)
	}
	return params, formats
}

// spliced is the statement with its blocks replaced by released relations, without
// noise and with all groups that occur.
func (p *planned) spliced() (string, error) {
	released := make([][]*planner.Released, len(p.plan.Blocks))
	rows := map[string][]*big.Int{} // of private groups
	for i, b := range p.plan.Blocks {
		for _, set := range b.Sets {
			r := &planner.Released{}
			for range set.Size() {
				r.Rows = append(r.Rows, zeros(len(set.Mechanisms)))
			}
			if set.Private() {
				r.Keys = [][]*string{}
			}
			released[i] = append(released[i], r)
		}
	}
	err := p.readIntegers(func(block, set int, keys [][]byte, cell planner.Cell, n *big.Int) {
		pt, r := p.plan.Blocks[block].Sets[set], released[block][set]
		if !pt.Private() {
			if at, _ := pt.Partition(keys); at >= 0 {
				r.Rows[at][cell.At] = n
			}
			return
		}
		id := fmt.Sprintf("%d %d %q", block, set, texts(keys))
		if rows[id] == nil {
			rows[id] = zeros(len(pt.Mechanisms))
			r.Rows = append(r.Rows, rows[id])
			r.Keys = append(r.Keys, pointers(keys))
		}
		if cell.At != units {
			rows[id][cell.At] = n
		}
	})
	if err != nil {
		return "", err
	}
	arrays := make([][]string, len(p.plan.Blocks))
	for i, b := range p.plan.Blocks {
		arrays[i] = b.Columns(released[i])
	}
	return p.stmt.Splice(func(block int) string {
		return p.query.Relation(block, func(col int) string { return ast.Quote(arrays[block][col]) })
	}), nil
}

func zeros(n int) []*big.Int {
	row := make([]*big.Int, n)
	for i := range row {
		row[i] = new(big.Int)
	}
	return row
}

func pointers(keys [][]byte) []*string {
	out := make([]*string, len(keys))
	for i, k := range keys {
		if k != nil {
			s := string(k)
			out[i] = &s
		}
	}
	return out
}
