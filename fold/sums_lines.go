package fold

import (
	"fmt"
	"math/big"
	"strings"
)

// lines describes the sums in words. Their first column has the number at.
func (s *Sums) lines(at int) []string {
	var lines []string
	for i, kind := range s.Summed {
		form := "an integer"
		if kind == DecimalNumber {
			form = "a numeric"
		}
		lines = append(lines, fmt.Sprintf("column %d: s%d of the unit, %s", i+1, i+1, form))
	}
	for i, c := range s.Columns {
		lines = append(lines, fmt.Sprintf("column %d: %s, %v", at+i, columnName(i), c))
	}
	for i := range s.Additions {
		lines = append(lines, fmt.Sprintf("s%d: of a unit in a group, %s", i+1, s.Additions[i].describe()))
	}
	for i := range s.Summands {
		lines = append(lines, fmt.Sprintf("x%d: of a unit in a group, %s", i+1, s.Summands[i].describe()))
	}
	for i := range s.Norms {
		lines = append(lines, s.Norms[i].lines(i)...)
	}
	switch s.Weights.Kind {
	case Single:
		lines = append(lines, "weight of a unit in its group: 1")
	case Spread:
		lines = append(lines, "weight of a unit in each of its groups: the root of 2^40 divided by their number, rounded down")
	case Weightless:
	}
	if s.Weights.Nobody != "" {
		lines = append(lines, fmt.Sprintf("a unit that begins with %q weighs 0", s.Weights.Nobody))
	}
	for _, v := range s.Vectors {
		lines = append(lines, v.describe())
	}
	return lines
}

func columnName(i int) string { return fmt.Sprintf("c%d", i+1) }

func (a *Addition) describe() string {
	out := "the number of rows"
	if len(a.Factors) > 0 {
		var all []string
		for _, f := range a.Factors {
			all = append(all, f.String())
		}
		out = "the sum of " + strings.Join(all, " * ")
	}
	if a.Unit > 1 {
		out += fmt.Sprintf(" / %d toward zero", a.Unit)
	}
	if a.Offset != 0 {
		out += fmt.Sprintf(", less %d in each row", a.Offset)
	}
	if a.Filter >= 0 {
		out += " where " + columnName(a.Filter)
	}
	return out
}

// String writes a factor.
func (f Factor) String() string {
	out := columnName(f.Column)
	if f.Times != 1 {
		out = fmt.Sprintf("%d * %s", f.Times, out)
	}
	if f.Less != 0 {
		out = fmt.Sprintf("(%s - (%d))", out, f.Less)
	}
	return out
}

func (s *Summand) describe() string {
	out := fmt.Sprintf("s%d", s.Addition+1)
	count := fmt.Sprintf("s%d", s.Count+1)
	if s.Rows > 0 {
		count = fmt.Sprintf("min(%s, %d)", count, s.Rows)
	}
	switch {
	case s.About:
		if s.Reach > 0 {
			out += fmt.Sprintf(" within +-%d", s.Reach)
		}
		out = fmt.Sprintf("2 * %s - (%d) * %s", out, s.Centre, count)
	case s.Each > 0:
		out += fmt.Sprintf(" within +-%d * %s", s.Each, count)
	}
	out += fmt.Sprintf(", within +-%d", s.Most)
	if s.Norm >= 0 {
		out += fmt.Sprintf("; direction 2^%d times it divided by norm %d", s.Fraction, s.Norm+1)
	}
	return out
}

// lines describes a norm.
func (b *Bound) lines(i int) []string {
	x, name := fmt.Sprintf("x%d", b.Summand+1), fmt.Sprintf("norm %d", i+1)
	if len(b.Limits) == 0 {
		return []string{fmt.Sprintf("%s: no unit is above the limit of %s; level %d", name, x, b.Level)}
	}
	parts := []string{map[BoundKind]string{
		Largest: "in a group, the size of " + x, Absolute: "the sum of sizes of " + x + " over its groups",
		Root: "the root of the sum of squares of " + x + " over its groups",
	}[b.Kind]}
	for _, c := range b.Coarser {
		keys := make([]string, len(c.Keys))
		for k, at := range c.Keys {
			keys[k] = fmt.Sprint(at + 1)
		}
		over := "all together"
		if len(keys) > 0 {
			over = "by keys " + strings.Join(keys, ", ")
		}
		parts = append(parts, fmt.Sprintf("or that of groups %s divided by the root of %d", over, c.Square))
	}
	of := strings.Join(parts, ", ")
	if b.Counted {
		of += "; a root is one in double precision"
	}
	if b.Signed {
		of += fmt.Sprintf("; lengthened by 2^%d / (2^%d - its groups)", roomBits, roomBits)
	}
	which := "it"
	if b.Kind == Root {
		which = "its square"
	}
	return []string{
		fmt.Sprintf("%s of a unit: %s", name, of),
		fmt.Sprintf("level by %s: how many of these %s is above: %s", name, which, listed(b.Limits)),
	}
}

func listed(limits []*big.Int) string {
	texts := make([]string, len(limits))
	for i, l := range limits {
		texts[i] = l.String()
	}
	return strings.Join(texts, ", ")
}

// describe says which sums of a vector are read.
func (v *Vector) describe() string {
	var norms, sums []string
	for _, n := range v.Norms {
		norms = append(norms, fmt.Sprint(n+1))
	}
	for _, n := range v.Summands {
		sums = append(sums, fmt.Sprintf("x%d", n+1))
	}
	return fmt.Sprintf("read: by group and level by norm %s, the sums of %s and of their directions; the number of units by level",
		strings.Join(norms, " and "), strings.Join(sums, ", "))
}
