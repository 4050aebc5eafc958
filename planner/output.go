package planner

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"dpproxy/parser"
)

// Size returns the number of rows of the released relation.
func (b *BlockPlan) Size() int { return b.block.size() }

// Keys returns how many key ordinals precede the measures in a row of SQL.
func (b *BlockPlan) Keys() int { return len(b.block.groups) }

// Index returns the row of the released relation for the ordinals of a read
// row, or false if they are outside the public domain.
func (b *BlockPlan) Index(ordinals []int) (int, bool) {
	n := 0
	for i := range b.block.groups {
		g := &b.block.groups[i]
		at := ordinals[i] - 1
		if ordinals[i] == 0 {
			at = len(g.domain) // NULL comes last, as in an ascending ORDER BY
		}
		if at < 0 || at >= g.size() {
			return 0, false
		}
		n = n*g.size() + at
	}
	return n, true
}

// Columns returns the released relation as text arrays, one for each column:
// group keys from the policy, then aggregates computed from released measures.
// noisy has Size rows of one integer for each mechanism.
func (b *BlockPlan) Columns(noisy [][]*big.Int) []string {
	rows := b.Size()
	var arrays []string
	after := rows
	for i := range b.block.groups {
		g := &b.block.groups[i]
		after /= g.size()
		cells := make([]*string, rows)
		for r := range cells {
			if k := r / after % g.size(); k < len(g.domain) {
				cells[r] = &g.domain[k]
			}
		}
		arrays = append(arrays, ArrayText(cells))
	}
	for _, o := range b.block.outputs {
		cells := make([]*string, rows)
		for r := range cells {
			s := b.cell(o, noisy[r])
			cells[r] = &s
		}
		arrays = append(arrays, ArrayText(cells))
	}
	return arrays
}

func (b *BlockPlan) cell(o output, noisy []*big.Int) string {
	m := b.block.measures[o.first]
	n := noisy[o.first]
	switch o.kind {
	case outputCount:
		return clampInt64(n).String()
	case outputSum:
		if o.resultOID == oidInt8 {
			return clampInt64(n).String()
		}
		return latticeText(new(big.Rat).Mul(new(big.Rat).SetInt(n), m.lattice.step), o.resultOID, m.lattice.digits)
	case outputAvg:
	}
	return latticeText(b.average(o, noisy), o.resultOID, m.lattice.digits+6)
}

// average returns the middle of the bounds plus half the centred sum over the
// count, clamped to the bounds. In a centred sum a value x counts 2x − (low + high),
// half of which is at most half the spread: less noise covers it than covers x.
func (b *BlockPlan) average(o output, noisy []*big.Int) *big.Rat {
	l := b.block.measures[o.first].lattice
	count := noisy[o.second]
	if count.Sign() <= 0 {
		count = big.NewInt(1)
	}
	half := new(big.Rat).Mul(l.step, big.NewRat(1, 2))
	avg := new(big.Rat).SetFrac(noisy[o.first], count)
	avg.Add(avg, new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(l.low), big.NewInt(l.high))))
	avg.Mul(avg, half)
	low := new(big.Rat).Mul(new(big.Rat).SetInt64(l.low), l.step)
	high := new(big.Rat).Mul(new(big.Rat).SetInt64(l.high), l.step)
	if avg.Cmp(low) < 0 {
		return low
	}
	if avg.Cmp(high) > 0 {
		return high
	}
	return avg
}

func latticeText(v *big.Rat, oid uint32, digits int) string {
	switch oid {
	case oidFloat4:
		f, _ := v.Float32()
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case oidFloat8:
		f, _ := v.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v.FloatString(digits)
}

func clampInt64(n *big.Int) *big.Int {
	if n.IsInt64() {
		return n
	}
	if n.Sign() < 0 {
		return big.NewInt(math.MinInt64)
	}
	return big.NewInt(math.MaxInt64)
}

// An ErrorBar is the error of one aggregate at the plan's confidence, for each row
// of the released relation alone.
type ErrorBar struct {
	Label string // e.g. "avg(cost)"
	// Least and Most are the half-widths of the narrowest and the widest interval
	// over the rows. They differ for averages, whose error depends on the released
	// count; before the release those are negative, for unknown.
	Least, Most float64
}

// String writes the error as "count(*) ± 20" or "avg(cost) ± 2.5 to 31".
func (e ErrorBar) String() string {
	s := e.Label + " ± " + Number(e.Least)
	if most := Number(e.Most); most != Number(e.Least) {
		s += " to " + most
	}
	return s
}

// Errors returns the error of each aggregate. noisy is what was released, or
// nil for a plan that was not run. Clamping bias is not part of it.
func (b *BlockPlan) Errors(noisy [][]*big.Int) []ErrorBar {
	var bars []ErrorBar
	for _, o := range b.block.outputs {
		bar := ErrorBar{Label: o.label}
		m := b.block.measures[o.first]
		switch o.kind {
		case outputCount:
			bar.Least = b.Mechanisms[o.first].Quantile(b.alpha)
			bar.Most = bar.Least
		case outputSum:
			step, _ := m.lattice.step.Float64()
			bar.Least = b.Mechanisms[o.first].Quantile(b.alpha) * step
			bar.Most = bar.Least
		case outputAvg:
			bar.Least, bar.Most = b.averageError(o, noisy)
		}
		bars = append(bars, bar)
	}
	return bars
}

// averageError is the half-width of the box [S ± c]/[N ± d] with half of alpha
// for each, or the whole range of the bounds where N may be zero: the least and
// the most over the rows.
func (b *BlockPlan) averageError(o output, noisy [][]*big.Int) (least, most float64) {
	if noisy == nil {
		return -1, -1
	}
	l := b.block.measures[o.first].lattice
	step, _ := l.step.Float64()
	span := float64(l.high-l.low) * step
	c := b.Mechanisms[o.first].Quantile(b.alpha/2) * step / 2
	d := b.Mechanisms[o.second].Quantile(b.alpha / 2)
	least = span
	for _, row := range noisy {
		sum, _ := new(big.Float).SetInt(row[o.first]).Float64()
		n, _ := new(big.Float).SetInt(row[o.second]).Float64()
		half := span
		if n > d {
			s := math.Abs(sum) * step / 2
			half = min(span, (s+c)/(n-d)-s/n)
		}
		least, most = min(least, half), max(most, half)
	}
	return least, most
}

// Relation writes the constant relation that takes the block's place; array
// returns the text of column i's array, a literal or a parameter. An array of a
// block without columns is never asked for.
func (q *Query) Relation(block int, array func(column int) string) string {
	b := q.blocks[block]
	var names, cells, arrays []string
	column := func(name, elem, cast, collation string) {
		arrays = append(arrays, "pg_catalog.unnest(CAST("+array(len(arrays))+" AS "+elem+"[]))")
		cells = append(cells, "CAST(u."+name+" AS "+cast+")"+collation+" AS "+name)
		names = append(names, name)
	}
	for i := range b.groups {
		col := b.groups[i].col
		column("g"+strconv.Itoa(i+1), elementType(col), displayType(col), collate(col))
	}
	for i, o := range b.outputs {
		column("a"+strconv.Itoa(i+1), builtinName(o.resultOID), builtinName(o.resultOID), "")
	}
	if len(names) == 0 {
		return "(SELECT 1 AS a0)"
	}
	return "(SELECT " + strings.Join(cells, ", ") + " FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
}

// Columns returns how many columns the released relation of a block has.
func (q *Query) Columns(block int) int {
	return len(q.blocks[block].groups) + len(q.blocks[block].outputs)
}

// Blocks returns how many release blocks the query has.
func (q *Query) Blocks() int { return len(q.blocks) }

// elementType names the type of a key without its modifier.
func elementType(col *column) string {
	if col.Type.Kind == 'b' {
		return builtinName(col.Type.OID)
	}
	return parser.QuoteIdent(col.Type.Name.Schema) + "." + parser.QuoteIdent(col.Type.Name.Name)
}

// displayType names the type of a key with its modifier, as its column has it.
func displayType(col *column) string {
	if col.Type.Kind == 'b' {
		return col.Type.Display
	}
	return elementType(col)
}

func collate(col *column) string {
	if col.Collation.Name == "" {
		return ""
	}
	return " COLLATE " + parser.QuoteIdent(col.Collation.Schema) + "." + parser.QuoteIdent(col.Collation.Name)
}

// ArrayText writes an array literal of Postgres; nil elements are NULL.
func ArrayText(cells []*string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if c == nil {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		b.WriteString(arrayEscaper.Replace(*c))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func pointers(s []string) []*string {
	p := make([]*string, len(s))
	for i := range s {
		p[i] = &s[i]
	}
	return p
}
