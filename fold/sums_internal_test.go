package fold

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// adding counts rows by group, and adds up a number.
func adding() *Spec {
	limits := []*big.Int{big.NewInt(0), big.NewInt(4), big.NewInt(100)}
	return &Spec{
		Unit: Column{Kind: Text}, Keys: []Key{{Column: Column{Kind: Plain}, Shown: Decimal}},
		Sums: &Sums{
			Columns:   []Number{{Kind: Truth}, {Kind: Whole, Low: -9, High: 9}},
			Additions: []Addition{{Filter: -1, Unit: 1}, {Filter: 0, Factors: []Factor{{1, 1, 0}}, Unit: 1}},
			Summands: []Summand{
				{Most: big.NewInt(1000), Norm: 0, Fraction: 20},
				{Addition: 1, Each: 9, Rows: 1000, Most: big.NewInt(9000), Norm: 0, Fraction: 14},
			},
			Norms:   []Bound{{Kind: Root, Limits: limits, Counted: true}},
			Vectors: []Vector{{[]int{0}, []int{0, 1}}},
			Weights: Weights{Kind: Spread},
		},
	}
}

func whole(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// rowsOf uses no chance: units have rows in some of the groups, in an order that never brings the rows of a unit together.
func rowsOf(units, groups, rows int) (out [][][]byte) {
	for i := range rows {
		out = append(out, [][]byte{number(i * 7919 % units), whole(int64(i * 31 % groups)), {byte(i % 2)}, whole(int64(i%19 - 9))})
	}
	return out
}

// TestSumsThatDoNotFit holds that rows that do not fit into memory are dropped and read once more, unit by unit, with the same result.
func TestSumsThatDoNotFit(t *testing.T) {
	rows := rowsOf(5003, 17, 60_000)
	all, once := totalled(t, adding(), rows, 1<<30)
	bounded, twice := totalled(t, adding(), rows, 1<<20)
	if once != 1 || twice != 2 {
		t.Errorf("%d and %d readings", once, twice)
	}
	if !slices.Equal(all, bounded) {
		t.Error("they differ")
	}
	f := New(adding(), secret, 1<<20)
	for _, row := range rows {
		if err := f.Take(row); err != nil {
			t.Fatal(err)
		}
	}
	if !f.full || f.adds.had.size() > 0 {
		t.Errorf("%d bytes are kept", f.adds.had.size())
	}
}

// TestManyRowsOfAGroup holds that rows of one unit and group take no memory of their own.
func TestManyRowsOfAGroup(t *testing.T) {
	f := New(adding(), secret, 1<<30)
	for i := range 300_000 {
		if err := f.Take([][]byte{number(7), whole(int64(i % 3)), nil, nil}); err != nil {
			t.Fatal(err)
		}
	}
	if most := 2*leastRows + 1<<13; f.adds.had.size() > most {
		t.Errorf("%d bytes, more than %d", f.adds.had.size(), most)
	}
}

// TestRootOfCounts holds that the length by a count uses the root of the nearest double, and all other lengths exact roots: so they are
// released.
func TestRootOfCounts(t *testing.T) {
	for counts, want := range map[bool]uint64{true: 1<<40 + 1, false: 1<<40 + 2} {
		b := newBound(&Bound{Kind: Root, Counted: counts, Limits: []*big.Int{big.NewInt(1)}}, true)
		b.size = wide{0, 1<<60 + 1}
		if got := b.lengthOf(); got != want {
			t.Errorf("%v: %d, not %d", counts, got, want)
		}
	}
}

// TestLengthsBeyond holds that a norm beyond all numbers leaves nothing of a summand, rather than more than its share.
func TestLengthsBeyond(t *testing.T) {
	for _, counts := range []bool{true, false} {
		b := newBound(&Bound{Kind: Root, Counted: counts, Signed: true, Limits: []*big.Int{big.NewInt(1)}}, true)
		b.size = widest
		if b.setLevel(3); b.length != largest || b.level != 1 {
			t.Errorf("%v: %d at level %d", counts, b.length, b.level)
		}
	}
	if got := withRoom(1<<40, 1<<roomBits); got != largest {
		t.Errorf("as many groups as the room is for: %d", got)
	}
	if got := (amount{1 << 60, 0}).part(20, 3); got != (amount{}) {
		t.Errorf("a part of what is too large: %v", got)
	}
	if got := (wide{1 << 63, 0}).plus(wide{1 << 63, 0}); got != widest {
		t.Errorf("a sum that is too large: %v", got)
	}
}

// TestAmounts compares numbers of 128 bits with larger ones.
func TestAmounts(t *testing.T) {
	values := []int64{0, 1, -1, 3, -7, 1 << 40, -1 << 40, math.MaxInt64, math.MinInt64 + 1}
	for _, x := range values {
		for _, y := range values {
			sum, product := amountOf(x).plus(amountOf(y)), amountOf(x).times(y)
			if want := new(big.Int).Add(big.NewInt(x), big.NewInt(y)); sum.big().Cmp(want) != 0 {
				t.Errorf("%d + %d = %v", x, y, sum.big())
			}
			want := new(big.Int).Mul(big.NewInt(x), big.NewInt(y))
			if product.big().Cmp(want) != 0 {
				t.Errorf("%d * %d = %v", x, y, product.big())
			}
			by := size(y) | 5
			want.Quo(want.Lsh(big.NewInt(x), 14), new(big.Int).SetUint64(by))
			if got := amountOf(x).part(14, by).big(); got.Cmp(want) != 0 {
				t.Errorf("2^14 * %d / %d = %v", x, by, got)
			}
		}
	}
}

// TestSumsErrorsTellNothing holds that the errors of all rows that cannot be taken have one text.
func TestSumsErrorsTellNothing(t *testing.T) {
	for name, row := range map[string][][]byte{
		"nothing": {}, "without its key": {number(1)}, "too short": {number(1), whole(1), {1}},
		"too long": {number(1), whole(1), {1}, whole(1), whole(1)}, "a condition that is none": {number(1), whole(1), {1, 1}, whole(1)},
		"a number that is none": {number(1), whole(1), {1}, {1, 2, 3}},
	} {
		if err := New(adding(), secret, 1<<30).Take(row); !errors.Is(err, errRow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDropLeavesNoSums holds that after a Fold is abandoned, nothing of its rows is in memory.
func TestDropLeavesNoSums(t *testing.T) {
	for _, byUnit := range []bool{false, true} {
		spec := adding()
		spec.ByUnit = byUnit
		f := New(spec, secret, 1<<30)
		for _, row := range rowsOf(50, 7, 400) {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		var d *desk
		var had []amount
		var texts [][]byte
		if byUnit {
			f.adds.own.gather()
			d, texts = &f.adds.own.desk, [][]byte{f.adds.own.unit}
			had = d.joined.sums[:cap(d.joined.sums)]
		} else {
			f.adds.had.gather(0)
			d = &f.adds.had.desks[0]
		}
		if err := f.Take(rowsOf(1, 1, 1)[0]); err != nil {
			t.Fatal(err)
		}
		if !byUnit {
			p := f.adds.had.parts[f.adds.had.last]
			had, texts = p.of.sums, [][]byte{p.units.text, p.rows[0]}
		}
		places, came := d.places[:cap(d.places)], d.came.sums[:cap(d.came.sums)]
		f.Drop()
		none := func(a amount) bool { return a != amount{} }
		if slices.ContainsFunc(had, none) || slices.ContainsFunc(came, none) ||
			slices.ContainsFunc(texts, func(b []byte) bool { return bytes.Trim(b, "\x00") != nil }) ||
			slices.ContainsFunc(places, func(p uint64) bool { return p > 0 }) {
			t.Errorf("%v: sums are kept", byUnit)
		}
	}
}

// TestIndexGrowsInParts holds that a look-up takes work for a small part of an index at most.
func TestIndexGrowsInParts(t *testing.T) {
	const entries = 1 << 18
	x, worst := newIndex(manyParts), 0
	for i := range entries {
		before := x.slots
		if n := x.number(uint64(i) << 20); n != i {
			t.Fatalf("%d is number %d", i, n)
		}
		worst = max(worst, x.slots-before)
	}
	if most := 4 * 2 * entries / manyParts; worst > most {
		t.Errorf("a pair made %d slots, more than %d", worst, most)
	}
	for i := range entries {
		if n := x.number(uint64(i) << 20); n != i || x.key(n) != uint64(i)<<20 {
			t.Fatalf("%d is number %d", i, n)
		}
	}
}

// TestSumsLinesSayAll holds that no part of the sums can change without a word: answers are remembered by these words.
func TestSumsLinesSayAll(t *testing.T) {
	spec := func() *Spec {
		s := adding()
		s.Sums.Additions[0].Unit = 7
		s.Sums.Norms[0].Coarser = []Coarser{{Square: 2, Keys: []int{0}}}
		return s
	}
	said := strings.Join(spec().Lines(), "\n")
	for name, change := range map[string]func(*Sums){
		"Summed":  func(s *Sums) { s.Summed = []NumberKind{Whole} },
		"Columns": func(s *Sums) { s.Columns[1].High++ }, "Truth": func(s *Sums) { s.Columns[0].Kind = Whole },
		"Filter": func(s *Sums) { s.Additions[0].Filter = 0 }, "Factors": func(s *Sums) { s.Additions[1].Factors = nil },
		"Unit": func(s *Sums) { s.Additions[0].Unit++ }, "Offset": func(s *Sums) { s.Additions[0].Offset++ },
		"Column": func(s *Sums) { s.Additions[1].Factors[0].Column-- }, "Times": func(s *Sums) { s.Additions[1].Factors[0].Times++ },
		"Less": func(s *Sums) { s.Additions[1].Factors[0].Less++ }, "Addition": func(s *Sums) { s.Summands[1].Addition-- },
		"Most": func(s *Sums) { s.Summands[1].Most = big.NewInt(1) }, "Each": func(s *Sums) { s.Summands[1].Each++ },
		"Rows": func(s *Sums) { s.Summands[1].Rows++ }, "Count": func(s *Sums) { s.Summands[1].Count++ },
		"About":  func(s *Sums) { s.Summands[1].About = true },
		"Centre": func(s *Sums) { s.Summands[1].About, s.Summands[1].Centre = true, 3 },
		"Reach":  func(s *Sums) { s.Summands[1].About, s.Summands[1].Reach = true, 3 },
		"Norm":   func(s *Sums) { s.Summands[1].Norm = -1 }, "Fraction": func(s *Sums) { s.Summands[1].Fraction++ },
		"Summand": func(s *Sums) { s.Norms[0].Summand++ }, "Kind": func(s *Sums) { s.Norms[0].Kind = Absolute },
		"Limits":  func(s *Sums) { s.Norms[0].Limits = s.Norms[0].Limits[1:] },
		"Level":   func(s *Sums) { s.Norms[0].Limits, s.Norms[0].Level = nil, 3 },
		"Counted": func(s *Sums) { s.Norms[0].Counted = false }, "Signed": func(s *Sums) { s.Norms[0].Signed = true },
		"Coarser": func(s *Sums) { s.Norms[0].Coarser = nil }, "Square": func(s *Sums) { s.Norms[0].Coarser[0].Square++ },
		"Coarser.Keys": func(s *Sums) { s.Norms[0].Coarser[0].Keys = nil }, "Vector.Norms": func(s *Sums) { s.Vectors[0].Norms[0]++ },
		"Vector.Summands": func(s *Sums) { s.Vectors[0].Summands = []int{0} }, "Weights": func(s *Sums) { s.Weights.Kind = Single },
		"Weightless": func(s *Sums) { s.Weights.Kind = Weightless }, "Nobody": func(s *Sums) { s.Weights.Nobody = "n" },
	} {
		s := spec()
		if change(s.Sums); strings.Join(s.Lines(), "\n") == said {
			t.Errorf("%s: the same words", name)
		}
	}
	fields := 0
	for _, of := range []reflect.Type{
		reflect.TypeFor[Sums](), reflect.TypeFor[Addition](), reflect.TypeFor[Factor](), reflect.TypeFor[Summand](),
		reflect.TypeFor[Bound](), reflect.TypeFor[Coarser](), reflect.TypeFor[Vector](), reflect.TypeFor[Weights](),
	} {
		fields += of.NumField()
	}
	if fields != 37 {
		t.Errorf("%d fields: is one of them new, it is to be said in words", fields)
	}
}

// TestCoarserGroups holds that the norm of a unit over coarser groups is the norm of its sums there.
func TestCoarserGroups(t *testing.T) {
	row := func(unit int, key, other int64) [][]byte {
		return [][]byte{number(unit), whole(key), []byte("shown"), whole(other), nil, nil}
	}
	rows := [][][]byte{ // unit by unit: the second unit is measured last
		row(5, 1, 9), row(5, 9, 9), row(7, 1, 1), row(7, 1, 2), row(7, 1, 3), row(7, 2, 1), row(7, 2, 1),
	}
	for name, c := range map[string]struct {
		coarser []Coarser
		square  uint64
	}{
		"none": {nil, 7}, "by the first key": {[]Coarser{{Square: 1, Keys: []int{0}}}, 13},
		"by the second key, divided": {[]Coarser{{Square: 2, Keys: []int{1}}}, 7},
		"by the second key":          {[]Coarser{{Square: 1, Keys: []int{1}}}, 11},
		"all together, divided":      {[]Coarser{{Square: 3}}, 9},
		"the largest":                {[]Coarser{{Square: 3}, {Square: 1, Keys: []int{0}}}, 13},
	} {
		spec := adding()
		spec.Keys = append([]Key{{Column: Column{Kind: Written}, Shown: Behind}}, spec.Keys...)
		spec.Sums.Norms[0].Coarser, spec.ByUnit = c.coarser, true
		f := New(spec, secret, 1<<30)
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		_, err := f.Totals(t.Context(), func(Total) error { return nil })
		if size := f.finishers[0].sums.bounds[0].size; err != nil || size != (wide{0, c.square}) {
			t.Errorf("%s: %v, not %d, %v", name, size, c.square, err)
		}
	}
}

// TestSumsAboutACentre holds that a sum and its count are each bounded by their own number before the centre is taken off.
func TestSumsAboutACentre(t *testing.T) {
	for _, c := range []struct{ reach, sum, rows, want int64 }{
		{0, 25, 7, 2*25 - 3*7},
		{10, 25, 2, 2*10 - 3*2},
		{10, 5, 7, 2*5 - 3*4},
		{10, 25, 7, 2*10 - 3*4},
		{10, -25, 7, -2*10 - 3*4},
		{0, 500, 1, 100},
		{0, -500, 1, -100},
	} {
		most := big.NewInt(100)
		about := Summand{Addition: 1, About: true, Centre: 3, Reach: c.reach, Rows: 4, Most: most}
		s := newSumming(&Sums{Additions: []Addition{{Filter: -1}, {Filter: -1, Offset: 1}}, Summands: []Summand{{Most: most}, about}})
		a := newAdded(s)
		a.own.begin(2)
		a.bring([]amount{amountOf(c.rows), amountOf(c.sum)})
		if got := a.own.at(0, 1); got != amountOf(c.want) {
			t.Errorf("%+v: %v", c, got.big())
		}
	}
}

// TestSkippedGroups holds that of skipped groups only the weights are given, and of other groups everything, even if groups are counted in
// several readings.
func TestSkippedGroups(t *testing.T) {
	rows := rowsOf(5003, 2500, 40_000)
	spec := adding()
	for _, most := range []int{1 << 30, 1 << 20} {
		f, sums, of := New(spec, secret, most), map[string]int{}, slices.Clone(rows)
		for again := true; again; {
			for _, row := range of {
				if err := f.Take(row); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			again, err = f.Totals(t.Context(), func(x Total) error {
				switch {
				case x.Weight != nil && (x.Keys[0][0]-'0')%2 > 0:
					return ErrSkipped
				case len(x.Sums) > 0:
					sums[string(x.Keys[0])]++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.SortStableFunc(of, func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
		}
		for g := range 2500 {
			key := strconv.Itoa(g)
			if given := sums[key] > 0; given == ((key[0]-'0')%2 > 0) {
				t.Errorf("%d bytes: group %s is given: %v", most, key, given)
			}
		}
	}
}

// TestLargestDirections holds that the directions of a unit are within the unit ball, however large its norm is.
func TestLargestDirections(t *testing.T) {
	for _, fraction := range []uint{12, 14} {
		most := new(big.Int).Lsh(big.NewInt(1), 61-fraction)
		top := new(big.Int).Lsh(big.NewInt(1), 2*(60-fraction))
		for _, groups := range []int{1, 64, 1000, 1 << 12, 1<<14 - 1, 1 << 16} {
			spec := &Spec{
				Unit: Column{Kind: Text}, Keys: []Key{{Column: Column{Kind: Plain}, Shown: Decimal}},
				Sums: &Sums{
					Columns:   []Number{{Kind: Whole, Low: 0, High: 1 << 61}},
					Additions: []Addition{{Filter: -1, Factors: []Factor{{0, 1, 0}}, Unit: 1}},
					Summands:  []Summand{{Most: most, Norm: 0, Fraction: fraction}},
					Norms:     []Bound{{Kind: Root, Limits: []*big.Int{big.NewInt(0), top}}},
					Vectors:   []Vector{{[]int{0}, []int{0}}},
				},
			}
			f := New(spec, secret, 1<<30)
			for g := range groups {
				if err := f.Take([][]byte{number(1), whole(int64(g)), whole(1 << 60)}); err != nil {
					t.Fatal(err)
				}
			}
			norm := new(big.Int)
			if _, err := f.Totals(t.Context(), func(x Total) error {
				for _, d := range x.Directions {
					norm.Add(norm, new(big.Int).Mul(d, d))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if norm.Sqrt(norm); norm.Cmp(big.NewInt(1<<fraction)) > 0 {
				t.Errorf("%d bits, %d groups: the directions have the norm %v, the ball is %d", fraction, groups, norm, 1<<fraction)
			}
		}
	}
}
