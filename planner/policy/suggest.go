package policy

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

var _ ast.Suggester = (*Model)(nil)

// Exponents of the grid of values without bounds: of numbers, of days and of seconds.
const (
	leastExponent  = -10
	mostExponent   = 60
	mostOfDays     = 19 // the years 565 to 3435
	mostOfSeconds  = 35 // the years 911 to 3088
	microsOfSecond = 1_000_000
)

// SuggestBounds implements parser.Suggester. The query chooses, of the steps between the values 0 and ±2^k within the
// bounds of the column or the range of its type, those that hold the fractions 0.005 and 0.995 of the values, and shows their
// outer ends. Of dates and timestamps the values are days and seconds from 2000 on. All of it follows from the catalogue and
// the policy.
func (m *Model) SuggestBounds(schema, table, column string) (string, *pgerr.Error) {
	t, refusal := m.suggested(schema, table)
	if refusal != nil {
		return "", refusal
	}
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == column && !c.Hidden })
	if i < 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "table %s has no column %q", t.Name, column).
			WithHint("SELECT name FROM dp.columns WHERE \"table\" = %s.", ast.Quote(t.Name.Name))
	}
	g, ok := newGrid(&t.Columns[i])
	if !ok {
		return "", pgerr.New(pgerr.NotAllowed, "values of type %s have no bounds to suggest", t.Columns[i].Type.Display).
			WithHint("Bounds are of integers, numerics, floats, dates and timestamps.")
	}
	return g.query(t.Name, column), nil
}

// suggestedType returns the type of a column whose bounds can be suggested, empty of any other, and whether the policy has no bounds of it.
func (m *Model) suggestedType(schema, table, column string) (typ string, unknown bool) {
	t, refusal := m.suggested(schema, table)
	if refusal != nil {
		return "", false
	}
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == column && !c.Hidden })
	if i < 0 {
		return "", false
	}
	c := &t.Columns[i]
	if _, ok := newGrid(c); !ok {
		return "", false
	}
	return c.Type.Display, c.Bounds == nil && c.Values == nil
}

// suggested returns the protected table of a name.
func (m *Model) suggested(schema, name string) (*Table, *pgerr.Error) {
	t := m.tables[catalog.Name{Schema: schema, Name: name}]
	if schema == "" {
		t = m.byName[name]
	}
	switch {
	case t == nil:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "no protected table is called %q", name).
			WithHint("SELECT schema, name FROM dp.tables. Of a view name the table below it.")
	case t.Public:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "table %s is public", t.Name).
			WithHint("SELECT min(x), max(x) FROM %s costs nothing.", t.Name)
	case t.Reference:
		return nil, pgerr.New(pgerr.NotAllowed, "table %s is a reference table, of which no bounds are suggested", t.Name).
			WithHint("Ask for percentile_disc of the column in a join with rows that refer to it.")
	}
	return t, nil
}

// A grid has the ends of the steps that bounds are chosen among, in the unit of their type.
type grid struct {
	of   pgtype.Type
	ends []*big.Rat
}

// newGrid returns the grid of a column, of which two ends are at least.
func newGrid(c *Column) (grid, bool) {
	g := grid{of: pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)}
	unit, least, most := big.NewRat(1, 1), leastExponent, mostExponent
	switch g.of.Family() { //nolint:exhaustive // others have no such values
	case pgtype.IntFamily:
		least, most = 0, pgtype.Bits(g.of.OID)-2
	case pgtype.NumericFamily:
		if digits := g.of.Precision(); digits > 0 {
			least = max(least, int(math.Ceil(-float64(g.of.Scale())*math.Log2(10))))
			most = min(most, max(0, int(math.Ceil(float64(digits-g.of.Scale())*math.Log2(10)))))
		}
	case pgtype.FloatFamily:
	case pgtype.DateFamily, pgtype.InstantFamily:
		unit, least, most = big.NewRat(microsOfSecond, 1), 0, mostOfSeconds
		if g.of.OID == pgtype.Date {
			unit, most = big.NewRat(1, 1), mostOfDays
		}
	default:
		return grid{}, false
	}
	g.ends = []*big.Rat{new(big.Rat)}
	for k := least; k <= most; k++ {
		end := new(big.Rat).Mul(unit, power2(k))
		g.ends = append(g.ends, end, new(big.Rat).Neg(end))
	}
	if g.of.Family() == pgtype.IntFamily { // the ends of the type
		end := power2(most + 1)
		g.ends = append(g.ends, new(big.Rat).Neg(end), end.Sub(end, big.NewRat(1, 1)))
	}
	return g.within(c.Bounds), true
}

// power2 returns 2^k.
func power2(k int) *big.Rat {
	x := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(k, -k))))
	if k < 0 {
		x.Inv(x)
	}
	return x
}

// within sorts the ends, and takes bounds for the outermost.
func (g grid) within(b *Bounds) grid {
	slices.SortFunc(g.ends, (*big.Rat).Cmp)
	low, high, ok := g.bounds(b)
	if ok {
		g.ends = slices.DeleteFunc(g.ends, func(x *big.Rat) bool { return x.Cmp(low) <= 0 || x.Cmp(high) >= 0 })
		g.ends = slices.Concat([]*big.Rat{low}, g.ends, []*big.Rat{high})
	}
	return g
}

// bounds reads the bounds of a column in the unit of the grid.
func (g grid) bounds(b *Bounds) (low, high *big.Rat, ok bool) {
	if b == nil {
		return nil, nil, false
	}
	if !g.of.Dated() {
		return b.Low, b.High, b.Low != nil && b.High != nil
	}
	low, okLow := scalar.Instant(b.LowText)
	high, okHigh := scalar.Instant(b.HighText)
	if !okLow || !okHigh {
		return nil, nil, false
	}
	if g.of.OID == pgtype.Date {
		day := big.NewRat(pgtype.MicrosPerDay, 1)
		low.Quo(low, day)
		high.Quo(high, day)
	}
	return new(big.Rat).SetInt(pgtype.Floor(low)), new(big.Rat).SetInt(pgtype.Ceil(high)), true
}

// text writes an end as Postgres writes such a value.
func (g grid) text(end *big.Rat) string {
	if g.of.Dated() {
		return g.of.DateText(end.Num().Int64())
	}
	if digits, exact := end.FloatPrec(); exact {
		return end.FloatString(digits)
	}
	f, _ := end.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// literal writes an end as a constant.
func (g grid) literal(end *big.Rat) string {
	switch {
	case g.of.Dated():
		return g.of.DateLiteral(end.Num().Int64())
	case g.of.Float():
		return pgtype.FloatLiteral(end)
	}
	return g.text(end)
}

// step writes the number of the step, from first on to last, that a value is in. Values beyond the ends are in the
// outermost.
func (g grid) step(x string, first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	middle := (first + last) / 2
	return fmt.Sprintf("CASE WHEN %s < %s THEN %s ELSE %s END", x, g.literal(g.ends[middle]),
		g.step(x, first, middle), g.step(x, middle+1, last))
}

// query writes what a call stands for.
func (g grid) query(table catalog.Name, column string) string {
	x := ast.QuoteIdent(column)
	texts := make([]string, len(g.ends))
	for i, end := range g.ends {
		texts[i] = g.text(end)
	}
	ends := "CAST(" + ast.Quote(`{"`+strings.Join(texts, `","`)+`"}`) + " AS pg_catalog.text[])"
	quoted := func(bound string) string {
		if g.of.Dated() {
			return "'''' || " + bound + " || ''''"
		}
		return bound
	}
	steps := fmt.Sprintf("SELECT percentile_disc(ARRAY[0.005, 0.995]) WITHIN GROUP "+
		"(ORDER BY CASE WHEN %s IS NOT NULL THEN %s END) AS steps FROM %s.%s",
		x, g.step(x, 1, len(g.ends)-1), ast.QuoteIdent(table.Schema), ast.QuoteIdent(table.Name))
	bounds := fmt.Sprintf("SELECT (%s)[s.steps[1]] AS lower, (%[1]s)[s.steps[2] + 1] AS upper FROM (%[2]s) AS s", ends, steps)
	const low, high = "\x00", "\x01" // no name has them
	clamp := strings.NewReplacer(low, "' || "+quoted("b.lower")+" || '", high, "' || "+quoted("b.upper")+" || '").
		Replace(ast.Quote(ast.Clamp(x, low, high)))
	return fmt.Sprintf("SELECT b.lower, b.upper, %s AS clamped FROM (%s) AS b", clamp, bounds)
}
