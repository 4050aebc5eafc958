package fold

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var secret = []byte("a secret of thirty-two bytes here")

// sums are results by group, level and node, and numbers of units by level.
type sums struct {
	rows, directions map[string]*big.Int
	units            map[int]int64
}

// folded folds rows, and reads them again in the order of units as often as the Fold asks for it.
func folded(t testing.TB, spec Spec, rows [][][]byte, most int) (sums, int) {
	t.Helper()
	f := New(&spec, secret, most)
	out := sums{map[string]*big.Int{}, map[string]*big.Int{}, map[int]int64{}}
	for readings := 1; ; readings++ {
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		again, err := f.Finish(context.Background(), func(s Sum) error {
			key := fmt.Sprintf("%q %d %d", s.Keys, s.Level, s.Node)
			if out.rows[key] != nil {
				t.Fatalf("%s twice", key)
			}
			out.rows[key], out.directions[key] = big.NewInt(s.Rows), big.NewInt(s.Directions)
			return nil
		}, func(level int, n int64) error {
			out.units[level] += n
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			return out, readings
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
	}
}

func (s sums) differs(o sums) string {
	for _, m := range []struct{ a, b map[string]*big.Int }{{s.rows, o.rows}, {s.directions, o.directions}} {
		for k := range mapsKeys(m.a, m.b) {
			if x, y := m.a[k], m.b[k]; x == nil || y == nil || x.Cmp(y) != 0 {
				return fmt.Sprintf("%s: %v, %v", k, x, y)
			}
		}
	}
	if !maps.Equal(s.units, o.units) {
		return fmt.Sprintf("units: %v, %v", s.units, o.units)
	}
	return ""
}

func mapsKeys[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// A twin does the same as a Fold, slowly, by the definition: in big integers, from maps.
type twin struct {
	spec Spec
	out  sums
	// least has the lowest level of each value of each group.
	least map[string]map[string]int
}

// slow returns the results of a Fold of a Spec of plain texts.
func slow(spec Spec, rows [][][]byte) sums {
	w := &twin{spec, sums{map[string]*big.Int{}, map[string]*big.Int{}, map[int]int64{}}, map[string]map[string]int{}}
	units := map[string]map[string]map[string]int64{} // rows by unit, group and value
	for _, row := range rows {
		unit, group, value := string(row[0]), fmt.Sprintf("%q", row[1:len(row)-1]), string(row[len(row)-1])
		if units[unit] == nil {
			units[unit] = map[string]map[string]int64{}
		}
		if units[unit][group] == nil {
			units[unit][group] = map[string]int64{}
		}
		if units[unit][group][value]++; spec.Buckets == nil {
			units[unit][group][value] = 1
		}
	}
	for unit, groups := range units {
		w.unit(unit, groups)
	}
	for group, values := range w.least {
		for _, level := range values {
			w.add(fmt.Sprintf("%s %d 0", group, level), big.NewInt(1), new(big.Int))
		}
	}
	return w.out
}

func (w *twin) add(key string, rows, directions *big.Int) {
	if w.out.rows[key] == nil {
		w.out.rows[key], w.out.directions[key] = new(big.Int), new(big.Int)
	}
	w.out.rows[key].Add(w.out.rows[key], rows)
	w.out.directions[key].Add(w.out.directions[key], directions)
}

func (w *twin) unit(unit string, groups map[string]map[string]int64) {
	if w.spec.Groups > 0 && len(groups) > w.spec.Groups {
		list := slices.Collect(maps.Keys(groups))
		slices.SortFunc(list, func(a, b string) int {
			return bytes.Compare(digest(2, canonical(unit)+canonical(unquoted(a))), digest(2, canonical(unit)+canonical(unquoted(b))))
		})
		for _, g := range list[w.spec.Groups:] {
			delete(groups, g)
		}
	}
	size := new(big.Int)
	for _, values := range groups {
		n := big.NewInt(total(values))
		if w.spec.Norm.Squared {
			n.Mul(n, n)
		}
		size.Add(size, n)
	}
	level := w.level(size)
	w.out.units[level]++
	for group, values := range groups {
		if w.spec.Buckets == nil {
			w.different(unit, group, values, size)
			continue
		}
		for value, n := range values {
			w.bucket(group, value, n, level, size)
		}
	}
}

func unquoted(group string) string { return strings.Trim(group, `[]"`) }

func canonical(text string) string { return "\x01" + text + "\x00" }

func digest(tag byte, message string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(append([]byte{tag}, message...))
	return mac.Sum(nil)
}

func total(values map[string]int64) (n int64) {
	for _, v := range values {
		n += v
	}
	return n
}

func (w *twin) level(size *big.Int) (level int) {
	for _, l := range w.spec.Norm.Limits {
		if l.Cmp(size) < 0 {
			level++
		}
	}
	return level
}

// bucket adds rows to all nodes above a bucket. It adds their direction too, which is no longer than the rows divided by the norm.
func (w *twin) bucket(group, value string, n int64, level int, size *big.Int) {
	x, _ := readWhole([]byte(value))
	x = max(min(x, w.spec.Buckets.Number.High), w.spec.Buckets.Number.Low)
	b := (x - w.spec.Buckets.Grid.Low) / w.spec.Buckets.Grid.Width
	direction, length := new(big.Int).Lsh(big.NewInt(n), w.spec.Buckets.Fraction), new(big.Int).Set(size)
	if w.spec.Norm.Squared {
		f, _ := new(big.Float).SetInt(size).Float64()
		length.SetInt64(int64(math.Ceil(math.Sqrt(f)*1024)) + 1)
		direction.Lsh(direction, 10)
	}
	first := int64(0)
	for _, joined := range w.spec.Buckets.Divisors {
		w.add(fmt.Sprintf("%s %d %d", group, level, first+b/joined), big.NewInt(n), new(big.Int).Quo(direction, length))
		first += (w.spec.Buckets.Number.High-w.spec.Buckets.Grid.Low)/w.spec.Buckets.Grid.Width/joined + 1
	}
}

// different keeps the r-th of k values from the smallest limit C on with C² ≥ r²·N²/k².
func (w *twin) different(unit, group string, values map[string]int64, size *big.Int) {
	list := slices.Collect(maps.Keys(values))
	slices.SortFunc(list, func(a, b string) int {
		return bytes.Compare(digest(1, canonical(unit)+canonical(a)), digest(1, canonical(unit)+canonical(b)))
	})
	if w.least[group] == nil {
		w.least[group] = map[string]int{}
	}
	for i, value := range list {
		r, k := big.NewInt(int64(i+1)), big.NewInt(int64(len(list)))
		if w.spec.Norm.Squared {
			r.Mul(r, r)
			k.Mul(k, k)
		}
		kept := r.Mul(r, size)
		kept.Add(kept, k).Sub(kept, big.NewInt(1)).Quo(kept, k)
		level := w.level(kept)
		if have, ok := w.least[group][value]; !ok || level < have {
			w.least[group][value] = level
		}
	}
}

// drawSpec draws a Spec of texts, of numbers if rows are counted in buckets.
func drawSpec(t *rapid.T) Spec {
	spec := Spec{Unit: Column{Kind: Text}, Value: Column{Kind: Text}, Norm: Norm{Squared: rapid.Bool().Draw(t, "squared")}}
	if rapid.Bool().Draw(t, "keys") {
		spec.Keys = []Key{{Column: Column{Kind: Text}, Shown: Same}}
		spec.Groups = rapid.IntRange(0, 3).Draw(t, "groups")
	}
	for limit := int64(0); limit < 50_000; limit = 2*limit + 1 + rapid.Int64Range(0, 3).Draw(t, "limit") {
		spec.Norm.Limits = append(spec.Norm.Limits, big.NewInt(limit))
	}
	if rapid.Bool().Draw(t, "buckets") {
		low, width := rapid.Int64Range(-9, 9).Draw(t, "low"), rapid.Int64Range(1, 5).Draw(t, "width")
		spec.Buckets = &Buckets{
			Number: Number{Kind: Whole, Low: low, High: low + rapid.Int64Range(0, 40).Draw(t, "span")},
			Grid:   Grid{Low: low, Width: width}, Divisors: rapid.SampledFrom([][]int64{{1}, {4, 1}, {16, 4, 1}}).Draw(t, "divisors"),
			Fraction: rapid.SampledFrom([]uint{0, 14, 20}).Draw(t, "fraction"),
		}
	}
	return spec
}

func drawRows(t *rapid.T, spec Spec) [][][]byte {
	rows := make([][][]byte, rapid.IntRange(0, 120).Draw(t, "rows"))
	units := rapid.IntRange(1, 20).Draw(t, "units")
	for i := range rows {
		rows[i] = [][]byte{fmt.Appendf(nil, "unit %d", rapid.IntRange(1, units).Draw(t, "unit"))}
		if spec.Keys != nil {
			rows[i] = append(rows[i], fmt.Appendf(nil, "group %d", rapid.IntRange(1, 6).Draw(t, "group")))
		}
		value := rapid.IntRange(-12, 60).Draw(t, "value")
		if spec.Buckets != nil {
			rows[i] = append(rows[i], []byte{byte(value >> 8), byte(value)})
		} else {
			rows[i] = append(rows[i], fmt.Appendf(nil, "value %d", value%9))
		}
	}
	return rows
}

// TestTwin compares sums with those of a slow twin, whatever the order of rows is, and whether or not they fit into memory.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		rows := drawRows(rt, spec)
		want := slow(spec, merged(spec, rows))
		got, _ := folded(t, spec, rows, 1<<30)
		if d := got.differs(want); d != "" {
			rt.Fatalf("folded and slow: %s", d)
		}
		shuffled := rapid.Permutation(rows).Draw(rt, "order")
		if got, _ := folded(t, spec, shuffled, 1<<30); got.differs(want) != "" {
			rt.Fatalf("in another order: %s", got.differs(want))
		}
		slices.SortStableFunc(shuffled, func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
		spec.ByUnit = true
		if got, readings := folded(t, spec, shuffled, 1); got.differs(want) != "" || readings > 1 && spec.Buckets != nil {
			rt.Fatalf("unit by unit, read %d times: %s", readings, got.differs(want))
		}
	})
}

// merged writes the values of rows as their buckets, which distinguish a unit's rows.
func merged(spec Spec, rows [][][]byte) [][][]byte {
	if spec.Buckets == nil {
		return rows
	}
	out := make([][][]byte, len(rows))
	for i, row := range rows {
		x, _ := readWhole(row[len(row)-1])
		n := &spec.Buckets.Number
		x = max(min(x, n.High), n.Low)
		x -= (x - spec.Buckets.Grid.Low) % spec.Buckets.Grid.Width
		out[i] = append(slices.Clone(row[:len(row)-1]), []byte{byte(x >> 8), byte(x)})
	}
	return out
}
