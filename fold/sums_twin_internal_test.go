package fold

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// totalled writes all totals of rows as sorted lines, and how often the rows were read.
func totalled(t testing.TB, spec *Spec, rows [][][]byte, most int) ([]string, int) {
	t.Helper()
	f := New(spec, secret, most)
	var lines []string
	for readings := 1; ; readings++ {
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		again, err := f.Totals(context.Background(), func(o Total) error {
			switch {
			case o.Units != nil:
				lines = append(lines, fmt.Sprintf("units %d %v: %d", o.Vector, o.Levels, *o.Units))
			case o.Weight != nil:
				lines = append(lines, fmt.Sprintf("weight %q: %d", o.Keys, *o.Weight))
			default:
				lines = append(lines, fmt.Sprintf("%q %d %v: %v %v", o.Keys, o.Vector, o.Levels, o.Sums, o.Directions))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			slices.Sort(lines)
			return lines, readings
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
	}
}

// A sumsTwin does the same as a Fold, slowly, by the definition: in big integers, from maps.
type sumsTwin struct {
	*Spec
	units   map[string]int64
	weights map[string]*big.Int
	// sums has sums and directions, by line.
	sums map[string][2][]*big.Int
}

func slowSums(spec *Spec, rows [][][]byte) []string {
	w := &sumsTwin{spec, map[string]int64{}, map[string]*big.Int{}, map[string][2][]*big.Int{}}
	units := map[string]map[string][][][]byte{} // rows by unit and group
	for _, row := range rows {
		group := strings.Join(texts(row[1:1+len(spec.Keys)]), "|")
		if units[string(row[0])] == nil {
			units[string(row[0])] = map[string][][][]byte{}
		}
		units[string(row[0])][group] = append(units[string(row[0])][group], row[1+len(spec.Keys):])
	}
	for unit, groups := range units {
		w.unit(unit, groups)
	}
	var lines []string
	for k, n := range w.units {
		lines = append(lines, fmt.Sprintf("units %s: %d", k, n))
	}
	for k, n := range w.weights {
		lines = append(lines, fmt.Sprintf("weight %q: %v", strings.Split(k, "|"), n))
	}
	for k, s := range w.sums {
		lines = append(lines, fmt.Sprintf("%s: %v %v", k, s[0], s[1]))
	}
	slices.Sort(lines)
	return lines
}

func texts(of [][]byte) (out []string) {
	for _, b := range of {
		out = append(out, string(b))
	}
	return out
}

func (w *sumsTwin) unit(unit string, groups map[string][][][]byte) {
	if w.Groups > 0 && len(groups) > w.Groups {
		list := slices.Collect(maps.Keys(groups))
		name := func(group string) (out string) {
			out = canonical(unit)
			for part := range strings.SplitSeq(group, "|") {
				out += canonical(part)
			}
			return out
		}
		slices.SortFunc(list, func(a, b string) int { return bytes.Compare(digest(2, name(a)), digest(2, name(b))) })
		for _, g := range list[w.Groups:] {
			delete(groups, g)
		}
	}
	x := map[string][]*big.Int{}
	for group, rows := range groups {
		x[group] = w.summands(rows)
		if w.Sums.Weights.Kind != Weightless {
			k := int64(1)
			if w.Sums.Weights.Kind == Spread {
				k = new(big.Int).Sqrt(big.NewInt(1 << 40 / int64(len(groups)))).Int64()
			}
			if nobody := w.Sums.Weights.Nobody; nobody != "" && strings.HasPrefix(unit, nobody) {
				k = 0
			}
			if w.weights[group] == nil {
				w.weights[group] = new(big.Int)
			}
			w.weights[group].Add(w.weights[group], big.NewInt(k))
		}
	}
	for v := range w.Sums.Vectors {
		w.vector(v, x)
	}
}

// summands works out the summands of one group.
func (w *sumsTwin) summands(rows [][][]byte) (out []*big.Int) {
	var sums []*big.Int
	for _, a := range w.Sums.Additions {
		sum := new(big.Int)
		for _, row := range rows {
			if x := addedOf(a, row); x != nil {
				sum.Add(sum, x)
			}
		}
		sums = append(sums, sum)
	}
	for _, s := range w.Sums.Summands {
		x := sums[s.Addition]
		switch {
		case s.About:
			n := sums[s.Count]
			if s.Reach > 0 {
				x, n = nearest(x, big.NewInt(s.Reach)), nearest(n, big.NewInt(s.Rows))
			}
			x = new(big.Int).Sub(new(big.Int).Lsh(x, 1), new(big.Int).Mul(n, big.NewInt(s.Centre)))
		case s.Each > 0:
			n := nearest(sums[s.Count], big.NewInt(s.Rows))
			x = nearest(x, new(big.Int).Mul(n, big.NewInt(s.Each)))
		}
		out = append(out, nearest(x, s.Most))
	}
	return out
}

func addedOf(a Addition, row [][]byte) *big.Int {
	if a.Filter >= 0 && (row[a.Filter] == nil || row[a.Filter][0] == 0) {
		return nil
	}
	x := big.NewInt(1)
	for _, f := range a.Factors {
		if row[f.Column] == nil {
			return nil
		}
		c := big.NewInt(int64(binary.BigEndian.Uint64(row[f.Column])))
		x.Mul(x, c.Mul(c, big.NewInt(f.Times)).Sub(c, big.NewInt(f.Less)))
	}
	if len(a.Factors) > 1 {
		x.Quo(x, big.NewInt(a.Unit))
	}
	if len(a.Factors) > 0 {
		x.Sub(x, big.NewInt(a.Offset))
	}
	return x
}

func nearest(x, most *big.Int) *big.Int {
	if x.CmpAbs(most) <= 0 {
		return x
	}
	if x.Sign() < 0 {
		return new(big.Int).Neg(most)
	}
	return most
}

// norm returns the norm of a unit, or of one of its groups, or its square.
func (w *sumsTwin) norm(b Bound, x map[string][]*big.Int, group string) *big.Int {
	size := new(big.Int)
	for g, values := range x {
		v := new(big.Int).Abs(values[b.Summand])
		switch {
		case b.Kind == Root:
			size.Add(size, v.Mul(v, v))
		case b.Kind == Absolute || g == group:
			size.Add(size, v)
		}
	}
	for _, c := range b.Coarser {
		joined := map[string]*big.Int{}
		for g, values := range x {
			var key []string
			for _, i := range c.Keys {
				key = append(key, strings.Split(g, "|")[i])
			}
			of := strings.Join(key, "|")
			if joined[of] == nil {
				joined[of] = new(big.Int)
			}
			joined[of].Add(joined[of], values[b.Summand])
		}
		square := new(big.Int)
		for _, v := range joined {
			square.Add(square, v.Mul(v, v))
		}
		square.Add(square, big.NewInt(c.Square-1)).Quo(square, big.NewInt(c.Square))
		if square.Cmp(size) > 0 {
			size = square
		}
	}
	return size
}

// length returns the smallest whole number that is at least 2^10 times the root, and 1 more.
func (w *sumsTwin) length(b Bound, size *big.Int, groups int) *big.Int {
	out := new(big.Int).Set(size)
	switch {
	case b.Kind != Root:
		if size.Sign() == 0 {
			out.SetInt64(1)
		}
	case b.Counted:
		f, _ := new(big.Float).SetInt(size).Float64()
		out.SetInt64(int64(math.Ceil(math.Sqrt(f)*1024)) + 1)
	default:
		fine := new(big.Int).Lsh(size, 20)
		if out.Sqrt(fine); new(big.Int).Mul(out, out).Cmp(fine) < 0 {
			out.Add(out, big.NewInt(1))
		}
		out.Add(out, big.NewInt(1))
	}
	if b.Signed {
		out.Lsh(out, roomBits).Quo(out, big.NewInt(int64(1<<roomBits-groups)))
		out.Add(out, big.NewInt(1))
	}
	return out
}

func (w *sumsTwin) level(b Bound, size *big.Int) int {
	if len(b.Limits) == 0 {
		return b.Level
	}
	level := 0
	for _, l := range b.Limits {
		if l.Cmp(size) < 0 {
			level++
		}
	}
	return level
}

func (w *sumsTwin) vector(v int, x map[string][]*big.Int) {
	vector := w.Sums.Vectors[v]
	var most []*big.Int
	var placed string
	for _, group := range slices.Sorted(maps.Keys(x)) {
		var levels []int
		var sizes []*big.Int
		for _, n := range vector.Norms {
			b := w.Sums.Norms[n]
			size := new(big.Int)
			if len(b.Limits) > 0 {
				size = w.norm(b, x, group)
			}
			levels, sizes = append(levels, w.level(b, size)), append(sizes, size)
		}
		if most == nil || slices.CompareFunc(sizes, most, func(a, b *big.Int) int { return a.Cmp(b) }) > 0 {
			most, placed = sizes, fmt.Sprintf("%d %v", v, levels)
		}
		line := fmt.Sprintf("%q %d %v", strings.Split(group, "|"), v, levels)
		cell, known := w.sums[line]
		if !known {
			for range vector.Summands {
				cell[0], cell[1] = append(cell[0], new(big.Int)), append(cell[1], new(big.Int))
			}
			w.sums[line] = cell
		}
		for i, n := range vector.Summands {
			cell[0][i].Add(cell[0][i], x[group][n])
			if s := w.Sums.Summands[n]; s.Norm >= 0 {
				b := w.Sums.Norms[s.Norm]
				d := new(big.Int).Lsh(x[group][n], s.Fraction)
				if b.Kind == Root {
					d.Lsh(d, 10)
				}
				cell[1][i].Add(cell[1][i], d.Quo(d, w.length(b, w.norm(b, x, group), len(x))))
			}
		}
	}
	w.units[placed]++
}

// drawSums draws a Spec of sums over rows with texts as keys.
func drawSums(t *rapid.T) *Spec {
	spec := &Spec{Unit: Column{Kind: Text}, Sums: &Sums{Columns: []Number{
		{Kind: Truth}, {Kind: Whole, Low: math.MinInt64, High: math.MaxInt64}, {Kind: Whole, Low: math.MinInt64, High: math.MaxInt64},
	}}}
	for range rapid.SampledFrom([]int{1, 2, 2}).Draw(t, "keys") {
		spec.Keys = append(spec.Keys, Key{Column: Column{Kind: Text}, Shown: Same})
	}
	spec.Groups = rapid.IntRange(0, 4).Draw(t, "groups")
	s := spec.Sums
	filter := rapid.IntRange(-1, 0).Draw(t, "filter")
	factor := func() Factor {
		column, times := rapid.IntRange(1, 2).Draw(t, "column"), rapid.Int64Range(1, 2).Draw(t, "times")
		return Factor{column, times, rapid.Int64Range(-9, 9).Draw(t, "less")}
	}
	s.Additions = []Addition{
		{Filter: filter, Unit: 1},
		{Filter: filter, Factors: []Factor{{1, 1, 0}}, Unit: 1},
		{
			Filter: filter, Factors: []Factor{factor(), factor()}, Unit: rapid.SampledFrom([]int64{1, 7, 1 << 20}).Draw(t, "unit"),
			Offset: rapid.Int64Range(0, 9).Draw(t, "offset"),
		},
	}
	most := big.NewInt(rapid.SampledFrom([]int64{5, 1000, 1 << 42}).Draw(t, "most"))
	count := Summand{Most: big.NewInt(rapid.SampledFrom([]int64{3, 1_000_000}).Draw(t, "rows")), Norm: -1}
	s.Summands = []Summand{count}
	switch form := rapid.SampledFrom([]string{"alone", "by count", "about", "moments", "several"}).Draw(t, "form"); form {
	case "by count":
		s.Norms, s.Vectors = []Bound{drawBound(t, spec, 0)}, []Vector{{[]int{0}, []int{0, 1, 2}}}
		each := rapid.SampledFrom([]int64{1, 9, 1 << 40}).Draw(t, "each")
		for a := 1; a <= 2; a++ {
			rows := rapid.Int64Range(1, 5).Draw(t, "limit")
			of := Summand{Addition: a, Each: each, Rows: rows, Most: new(big.Int).Mul(big.NewInt(each), big.NewInt(rows+9))}
			s.Summands = append(s.Summands, of)
		}
	case "about":
		s.Norms = []Bound{drawBound(t, spec, 0)}
		s.Norms[0].Coarser, s.Norms[0].Signed = nil, false
		for i, centre := range []int64{0, rapid.Int64Range(-1<<50, 1<<50).Draw(t, "centre")} {
			of := Summand{Addition: 1, About: true, Centre: centre, Most: most, Norm: -1}
			if rapid.Bool().Draw(t, "reach") {
				of.Reach, of.Rows = 1<<60, 4
			}
			s.Summands = append(s.Summands, of)
			s.Norms = append(s.Norms, drawBound(t, spec, 1+i))
			s.Vectors = append(s.Vectors, Vector{[]int{0, 1 + i}, []int{0, 1 + i}})
		}
	case "moments":
		s.Norms, s.Vectors = []Bound{drawBound(t, spec, 0), drawBound(t, spec, 1), drawBound(t, spec, 2)},
			[]Vector{{[]int{0, 1, 2}, []int{0, 1, 2}}, {[]int{0}, []int{0}}}
		for i := range s.Norms {
			s.Norms[i].Coarser, s.Norms[i].Signed = nil, false
		}
		s.Summands = append(s.Summands, Summand{Addition: 1, Most: most, Norm: -1}, Summand{Addition: 2, Most: most, Norm: -1})
	default:
		s.Summands = append(s.Summands, Summand{Addition: 1, Most: most, Norm: 1}, Summand{Addition: 2, Most: most, Norm: 2})
		for i := range s.Summands {
			s.Norms = append(s.Norms, drawBound(t, spec, i))
			s.Vectors = append(s.Vectors, Vector{[]int{i}, []int{i}})
		}
	}
	for i := range s.Summands {
		of := &s.Summands[i]
		if of.Norm = min(i, len(s.Norms)-1); len(s.Vectors[0].Norms) > 1 || len(s.Norms[of.Norm].Limits) == 0 {
			of.Norm = -1
		}
		of.Fraction = rapid.SampledFrom([]uint{0, 14, 20}).Draw(t, "fraction")
	}
	drawTwice(t, s)
	s.Weights.Kind = rapid.SampledFrom([]WeightKind{Weightless, Single, Spread}).Draw(t, "weights")
	s.Weights.Nobody = rapid.SampledFrom([]string{"", "n"}).Draw(t, "nobody")
	return spec
}

// drawTwice has each addition twice, with the same filter or another, and draws which of them a summand uses.
func drawTwice(t *rapid.T, s *Sums) {
	filter := rapid.IntRange(-1, 0).Draw(t, "filter again")
	for _, a := range s.Additions {
		a.Filter = filter
		s.Additions = append(s.Additions, a)
	}
	for i := range s.Summands {
		s.Summands[i].Addition += 3 * rapid.IntRange(0, 1).Draw(t, "which")
		s.Summands[i].Count += 3 * rapid.IntRange(0, 1).Draw(t, "which count")
	}
}

// drawBound draws the norm of a summand.
func drawBound(t *rapid.T, spec *Spec, summand int) Bound {
	b := Bound{Summand: summand, Kind: rapid.SampledFrom([]BoundKind{Largest, Absolute, Root, Root, Root}).Draw(t, "kind")}
	if rapid.IntRange(0, 5).Draw(t, "bounded") == 0 {
		b.Level = rapid.IntRange(0, 9).Draw(t, "level")
		return b
	}
	for limit := int64(0); limit < 1<<45; limit = 3*limit + 1 + rapid.Int64Range(0, 3).Draw(t, "limit") {
		b.Limits = append(b.Limits, big.NewInt(limit))
		if b.Kind == Root {
			b.Limits[len(b.Limits)-1].Mul(big.NewInt(limit), big.NewInt(limit))
		}
	}
	if b.Kind != Root {
		return b
	}
	b.Counted = summand == 0 && rapid.Bool().Draw(t, "counted")
	if rapid.Bool().Draw(t, "all together") {
		b.Coarser = append(b.Coarser, Coarser{Square: rapid.Int64Range(1, 5).Draw(t, "square")})
	}
	if len(spec.Keys) > 1 && rapid.Bool().Draw(t, "coarser") {
		b.Coarser = append(b.Coarser, Coarser{Square: rapid.Int64Range(1, 5).Draw(t, "square"), Keys: []int{1}})
	}
	b.Signed = b.Coarser != nil && !b.Counted && rapid.Bool().Draw(t, "signed")
	return b
}

func drawSumRows(t *rapid.T, spec *Spec) [][][]byte {
	rows := make([][][]byte, rapid.IntRange(0, 100).Draw(t, "rows"))
	units := rapid.IntRange(1, 12).Draw(t, "units")
	value := rapid.OneOf(rapid.Int64Range(-20, 60), rapid.SampledFrom([]int64{0, -1 << 40, 1 << 30, 1<<58 - 1, -1 << 58}))
	for i := range rows {
		of := rapid.SampledFrom([]string{"n", "p"}).Draw(t, "of")
		rows[i] = [][]byte{fmt.Appendf(nil, "%s %d", of, rapid.IntRange(1, units).Draw(t, "unit"))}
		for range spec.Keys {
			rows[i] = append(rows[i], fmt.Appendf(nil, "group %d", rapid.IntRange(1, 4).Draw(t, "group")))
		}
		truth := [][]byte{nil, {0}, {1}, {1}}[rapid.IntRange(0, 3).Draw(t, "truth")]
		rows[i] = append(rows[i], truth)
		for range 2 {
			x := binary.BigEndian.AppendUint64(nil, uint64(value.Draw(t, "value")))
			if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
				x = nil
			}
			rows[i] = append(rows[i], x)
		}
		if f := spec.Sums.Additions[2]; tooWide(f, rows[i][1+len(spec.Keys):]) {
			rows[i][len(rows[i])-1] = nil
		}
	}
	return rows
}

// tooWide says that a product is more than 2^62 units, as in no plan.
func tooWide(a Addition, row [][]byte) bool {
	a.Filter, a.Offset = -1, 0
	x := addedOf(a, row)
	return x != nil && x.BitLen() > 62
}

// TestSumsTwin compares sums with those of a slow twin, whatever the order of rows is, and whether or not they fit into memory.
func TestSumsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSums(rt)
		rows := drawSumRows(rt, spec)
		want := slowSums(spec, rows)
		differs := func(how string, got []string) {
			if !slices.Equal(got, want) {
				rt.Fatalf("%s:\n%s\n  in place of\n%s\n  of\n%s", how, strings.Join(got, "\n"), strings.Join(want, "\n"),
					strings.Join(spec.Lines(), "\n"))
			}
		}
		got, _ := totalled(t, spec, rows, 1<<30)
		differs("folded", got)
		shuffled := rapid.Permutation(rows).Draw(rt, "order")
		got, _ = totalled(t, spec, shuffled, 1<<30)
		differs("in another order", got)
		slices.SortStableFunc(shuffled, func(a, b [][]byte) int { return cmp.Compare(string(a[0]), string(b[0])) })
		spec.ByUnit = true
		got, readings := totalled(t, spec, shuffled, 1)
		if differs("unit by unit", got); readings > 1 {
			rt.Fatalf("read %d times", readings)
		}
	})
}
