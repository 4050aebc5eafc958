package property_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
)

// planned is a statement that the planner takes.
type planned struct {
	w      *world
	stmt   *parser.Statement
	query  *planner.Query
	plan   *planner.Plan
	values []planner.Value
}

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
	if p.query, err = planner.Analyze(w.cat, st); err != nil {
		return nil, err
	}
	if p.values, err = w.constants(p.query); err != nil {
		return nil, err
	}
	var oids []uint32
	for _, v := range p.values {
		oids = append(oids, v.OID)
	}
	tm, err := p.query.Compile(oids)
	if err != nil {
		return nil, err
	}
	p.plan, err = tm.Bind(p.values, planner.Settings{EpsilonPico: dp.PicoPerUnit, Mechanism: "gaussian", Alpha: 0.05})
	return p, err
}

// errNoRelease is returned for a statement that reads nothing protected.
var errNoRelease = errors.New("nothing is released")

// constants evaluates the column-free expressions of a statement.
func (w *world) constants(q *planner.Query) ([]planner.Value, error) {
	var cols []string
	for _, f := range q.Folds() {
		cols = append(cols, "("+f.SQL+")")
	}
	if len(cols) == 0 {
		return nil, nil
	}
	res := w.conn.PgConn().ExecParams(context.Background(), "SELECT "+strings.Join(cols, ", "), nil, nil, nil, []int16{1}).Read()
	if res.Err != nil {
		return nil, fmt.Errorf("constants: %w", res.Err)
	}
	var values []planner.Value
	for i, f := range res.FieldDescriptions {
		values = append(values, planner.Value{OID: f.DataTypeOID, Binary: true, Bytes: res.Rows[0][i]})
	}
	return values, nil
}

// A measure is a vector that is released with one mechanism.
type measure struct {
	block, part, read, at int
}

// An answer holds what is read, exactly: of each measure, an integer by coordinate.
type answer map[measure]map[string]*big.Int

func (a answer) add(m measure, coordinate, text string) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("a cell that is no integer: " + text)
	}
	if a[m] == nil {
		a[m] = map[string]*big.Int{}
	}
	a[m][coordinate] = n
}

// sensitivity returns what the plan declares of a measure.
func (p *planned) sensitivity(m measure) dp.Sensitivity {
	return p.plan.Blocks[m.block].Mechanisms[m.at].Event().(dp.GaussianEvent).Sensitivity
}

// kind names a measure for the statistics of what was reached.
func (p *planned) kind(m measure) string {
	if p.sensitivity(m).LInf <= 1000 {
		return "count"
	}
	return "sum"
}

// exact reads what the plan reads, without noise.
func (p *planned) exact() (answer, error) {
	a := answer{}
	for i, b := range p.plan.Blocks {
		params, formats := p.params(b.Params)
		res, err := p.w.query(b.SQL, params, formats)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, b.SQL)
		}
		for _, row := range res.Rows {
			var key []string
			for _, k := range row[:b.Keys()] {
				key = append(key, string(k))
			}
			for at, c := range row[b.Keys():] {
				a.add(measure{i, 0, 0, at}, strings.Join(key, "|"), string(c))
			}
		}
	}
	return a, nil
}

var pad = sha256.Sum256([]byte("a secret"))

func (p *planned) params(list []planner.Param) (params [][]byte, formats []int16) {
	for _, prm := range list {
		value, format := []byte(prm.Text), int16(0)
		switch prm.Kind {
		case planner.FoldParam:
			value, format = p.values[prm.Fold].Bytes, 1
		case planner.InnerPadParam, planner.OuterPadParam:
			value, format = append(pad[:], pad[:]...), 1
		case planner.TextParam:
		}
		params, formats = append(params, value), append(formats, format)
	}
	return params, formats
}

// spliced is the statement with its blocks replaced by what is released of them,
// without noise.
func (p *planned) spliced() (string, error) {
	a, err := p.exact()
	if err != nil {
		return "", err
	}
	var arrays [][]string
	for i, b := range p.plan.Blocks {
		rows := make([][]*big.Int, b.Size())
		for r := range rows {
			for range b.Mechanisms {
				rows[r] = append(rows[r], new(big.Int))
			}
		}
		for at := range b.Mechanisms {
			for key, n := range a[measure{i, 0, 0, at}] {
				if r, ok := b.Index(ordinals(key)); ok {
					rows[r][at] = n
				}
			}
		}
		arrays = append(arrays, b.Columns(rows))
	}
	return p.stmt.Splice(func(block int) string {
		return p.query.Relation(block, func(col int) string { return parser.Quote(arrays[block][col]) })
	}), nil
}

func ordinals(key string) []int {
	var out []int
	if key == "" {
		return nil
	}
	for k := range strings.SplitSeq(key, "|") {
		n := 0
		fmt.Sscan(k, &n)
		out = append(out, n)
	}
	return out
}
