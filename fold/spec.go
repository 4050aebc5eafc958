package fold

import (
	"fmt"
	"math/big"
	"strings"
)

// A Spec says what the columns of a row are, and how the rows of a unit are added up. It consists of plain, public values.
type Spec struct {
	Unit Column
	Keys []Key
	// Lists are the lists that give values their numbers.
	Lists []List
	// ByUnit says that the rows come unit by unit.
	ByUnit bool
	// Groups is how many groups of a unit count: the first ones in an order that only the secret determines. If it is 0, all count.
	Groups int
	Norm   Norm
	// Buckets are the buckets in which rows are counted. If Buckets is nil, the different values of the column Value are counted, unless
	// there are Sums, which have their own norms.
	Buckets *Buckets
	Value   Column
	Sums    *Sums
}

// A Column is a column whose values are only compared for equality.
type Column struct {
	Kind Kind
	// Hashed says that an order of the secret uses a text's SHA-256 in its place. It is set if texts can be long.
	Hashed bool
}

// A Kind says when two values are equal, given their binary form.
type Kind uint8

const (
	// Plain values are equal if their bytes are: whole numbers, dates, times, uuid, bool.
	Plain Kind = iota + 1
	// Text is a text with a deterministic collation, or the label of an enum.
	Text
	// Padded is a char(n): blanks at its end do not count.
	Padded
	// Numeric values are equal whatever their scale.
	Numeric
	// Float values are equal as numbers, and all NaNs are equal.
	Float
	// Interval values are equal if they are equally long. A month has 30 days and a day 24 hours.
	Interval
	// Written values are bytes that DATA writes. It writes the same bytes for values that are equal.
	Written
)

var kindNames = map[Kind]string{
	Plain: "by its bytes", Text: "by its bytes", Padded: "by its bytes, without the blanks behind", Numeric: "whatever its scale",
	Float: "as a number", Interval: "by its length", Written: "as the database compares it",
}

// String says how values are compared.
func (k Kind) String() string { return kindNames[k] }

// String says how values are compared, and which bytes an order uses.
func (c Column) String() string {
	if c.Hashed {
		return c.Kind.String() + ", in orders as SHA-256"
	}
	return c.Kind.String()
}

// A Key is a column by which rows are grouped.
type Key struct {
	Column
	Shown Shown
	// List is the place of the list of a key that is shown as a number.
	List int
}

// A List is the values that a column can have. They are given before the rows ([Fold.List]), and have numbers from 1 on. A row with another
// value does not count.
type List struct {
	Column
	// Null says that NULL is in the list. It has the number 0.
	Null bool
}

// Shown is how a key is written in a [Sum].
type Shown uint8

const (
	// Same is a text as it is.
	Same Shown = iota + 1
	// Decimal is a whole number.
	Decimal
	// Word is true or false.
	Word
	// Hex is a uuid.
	Hex
	// Behind is the text in the next column.
	Behind
	// Numbered is the number of the value in a list.
	Numbered
)

// A Norm measures the rows, or values, that a unit has in all of its groups. It is their number or, if Squared, the root of the sum of the
// squares of their numbers in each group.
type Norm struct {
	Squared bool
	// Limits are ascending; a squared norm has the squares of its limits. The level of a unit is the number of limits it is above.
	Limits []*big.Int
}

// maxEqual is the largest number of rows that count for a unit in one bucket.
const maxEqual = 1_000_000

// Buckets are parts of a range of numbers, in which rows are counted.
type Buckets struct {
	Number Number
	Grid   Grid
	// Divisors has, for each level of a tree above the buckets, how many buckets a node joins.
	Divisors []int64
	// Fraction is the number of fraction bits of a direction.
	Fraction uint
}

// A Number is a column whose values are clamped, and rounded to steps.
type Number struct {
	Kind NumberKind
	// Low and High are in steps of 10^−Decimals or, for a FloatNumber, of 2^−Bits.
	Low, High int64
	Decimals  int
	Bits      uint
}

// A NumberKind is how a value becomes a number of steps.
type NumberKind uint8

const (
	// Whole is a whole number as it is.
	Whole NumberKind = iota + 1
	// DecimalNumber is a numeric, rounded half away from zero. NaN is above all other numbers.
	DecimalNumber
	// FloatNumber is a float, rounded half to even. NaN is above all other numbers.
	FloatNumber
	// Days is a date, in days since 2000.
	Days
	// Moments is a timestamp, in microseconds since 2000.
	Moments
	// Truth is 1 if a condition holds.
	Truth
	// Position is the place of a value in the last list, from 0 on.
	Position
)

// A Grid maps whole numbers to numbers from 0 on. If Width is not 0, it maps x to (x − Low)/Width, and otherwise to
//
//	Each·k + ⌊(x − Low)/2^|k|⌋ − First
//
// with k the number of Cuts that x − Low reaches, less Below.
type Grid struct {
	Low, Width  int64
	Cuts        []int64
	Below       int
	Each, First int64
}

// number returns the number of x.
func (g *Grid) number(x int64) int64 {
	x -= g.Low
	if g.Width > 0 {
		return x / g.Width
	}
	from, to := 0, len(g.Cuts)
	for from < to {
		if middle := (from + to) / 2; g.Cuts[middle] <= x {
			from = middle + 1
		} else {
			to = middle
		}
	}
	k := from - g.Below
	return g.Each*int64(k) + x>>max(k, -k) - g.First
}

// Lines describes the Spec in words.
func (s *Spec) Lines() []string {
	if s.Sums != nil && s.Sums.Summed != nil {
		return append([]string{"each row is of another unit"}, s.Sums.lines(1)...)
	}
	lines := []string{"column 1: the unit, told apart " + s.Unit.String()}
	at := 2
	for _, k := range s.Keys {
		line := fmt.Sprintf("column %d: a key, told apart %v", at, k.Column)
		switch at++; k.Shown {
		case Behind:
			line += fmt.Sprintf(", shown as column %d", at)
			at++
		case Numbered:
			line += ", the number of its value in " + s.listed(k.List)
		case Same, Decimal, Word, Hex:
		}
		lines = append(lines, line)
	}
	if s.Groups > 0 {
		lines = append(lines, fmt.Sprintf("%d groups of a unit count, the first by HMAC-SHA-256 of unit and keys", s.Groups))
	}
	if s.Sums != nil {
		return append(lines, s.Sums.lines(at)...)
	}
	if s.Buckets != nil {
		number := s.Buckets.Number.String()
		if s.Buckets.Number.Kind == Position {
			last := len(s.Lists) - 1
			number = fmt.Sprintf("told apart %v, its place from 0 on in %s", s.Lists[last].Column, s.listed(last))
		}
		lines = append(lines, fmt.Sprintf("column %d: the value, %s, in one of %s", at, number, s.Buckets.describe()))
	} else {
		lines = append(lines, fmt.Sprintf("column %d: the value, told apart %v", at, s.Value))
	}
	return append(lines, s.Norm.lines(s)...)
}

// listed says what counts of the values in a list.
func (s *Spec) listed(list int) string {
	out := fmt.Sprintf("list %d", list+1)
	if s.Lists[list].Null {
		out += ", 0 for NULL"
	}
	return out + "; rows with others do not count"
}

// lines says how units are bounded, and which sums are read.
func (n *Norm) lines(s *Spec) []string {
	what := "different values"
	if s.Buckets != nil {
		what = fmt.Sprintf("rows, at most %d in a bucket", maxEqual)
	}
	norm := "the number of its " + what
	if n.Squared {
		norm = "the root of the sum of squares, over its groups, of the numbers of its " + what
	}
	limits := make([]string, len(n.Limits))
	for i, l := range n.Limits {
		limits[i] = l.String()
	}
	size := "it"
	if n.Squared {
		size = "its square"
	}
	lines := []string{
		"norm of a unit: " + norm, fmt.Sprintf("level of a unit: how many of these %s is above: %s", size, strings.Join(limits, ", ")),
	}
	if s.Buckets == nil {
		return append(lines,
			"kept at a limit: of a unit's values in each group the part that the limit is of its norm, the first by HMAC-SHA-256 of unit "+
				"and value",
			"read: by group, the number of values by the least level at which a unit keeps them; the number of units by level")
	}
	return append(lines, fmt.Sprintf("read: by group, bucket and level, the rows, and the sum of 2^%d times them divided by the norm; "+
		"the number of units by level", s.Buckets.Fraction))
}

// String says how values are rounded.
func (n Number) String() string {
	step := "whole"
	switch n.Kind {
	case DecimalNumber:
		step = fmt.Sprintf("in steps of 10^-%d", n.Decimals)
	case FloatNumber:
		step = fmt.Sprintf("in steps of 2^-%d", n.Bits)
	case Days:
		step = "in days since 2000"
	case Moments:
		step = "in microseconds since 2000"
	case Truth:
		return "whether it is true"
	case Whole, Position:
	}
	return fmt.Sprintf("%s, clamped to [%d, %d]", step, n.Low, n.High)
}

func (b *Buckets) describe() string {
	out := fmt.Sprintf("%d buckets ", b.Grid.number(b.Number.High)+1)
	if g := &b.Grid; g.Width > 0 {
		out += fmt.Sprintf("of %d from %d on", g.Width, g.Low)
	} else {
		out += fmt.Sprintf("about %d, %d for each doubling of the distance, from number %d on; doublings at %v, %d of them below",
			g.Low, g.Each, g.First, g.Cuts, g.Below)
	}
	if len(b.Divisors) > 1 {
		out += fmt.Sprintf("; a tree above them joins %v", b.Divisors)
	}
	return out
}
