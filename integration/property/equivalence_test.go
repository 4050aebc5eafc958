package property_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/internal/sqlgen"
	"dpproxy/planner"
)

// TestEquivalence asks Postgres itself and the planner, without noise, the same of data
// that no bound changes. The differences are documented: of no rows a sum is 0 and an
// average the middle of its bounds; sums are of values on a lattice; extremes and
// percentiles are of buckets; public keys appear without rows, too. If a statement uses such a released value, Postgres is
// asked for the statement with that value.
func TestEquivalence(t *testing.T) {
	first, want := seed(t), max(1, pairs(t)/10)
	compared, refused := 0, 0
	features := map[string]int{}
	for n := uint64(0); compared < want; n++ {
		w := newWorld(t, first+n, sqlgen.Honest)
		mine := 0
		for range 20 * statementsPerWorld {
			st := w.gen.Statement(w.schema)
			if slices.Contains(st.Features, sqlgen.Arbitrary) {
				continue
			}
			p, err := w.plan(st.SQL, chosen)
			if err != nil {
				refusal(t, st.SQL, err)
				refused++
				continue
			}
			for _, f := range st.Features {
				features[f]++
			}
			compared++
			if err := equivalent(w, st, p); err != nil {
				t.Errorf("seed %d: %s\n%v", first+n, st.SQL, err)
			}
			if mine++; mine == statementsPerWorld {
				break
			}
		}
		w.close()
	}
	t.Logf("%d statements equal, %d refused", compared, refused)
	for _, f := range slices.Sorted(maps.Keys(features)) {
		t.Logf("%4d: %s", features[f], f)
	}
}

// equivalent compares the statement with the rewritten one.
func equivalent(w *world, st sqlgen.Statement, p *planned) error {
	sql, err := p.spliced()
	if err != nil {
		return err
	}
	asked := st.SQL
	if p.inexact {
		asked = p.stmt.Text
	}
	want, raised := w.query(asked)
	if raised != nil {
		return nil //nolint:nilerr // Postgres raises where dpproxy has NULL
	}
	got, err := w.query(sql)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, sql)
	}
	for i, f := range want.FieldDescriptions {
		// A key keeps the modifier of its column behind a cast that names none.
		kept := st.Outputs[i] == sqlgen.Key && f.TypeModifier == -1
		if g := got.FieldDescriptions[i]; g.Name != f.Name || g.DataTypeOID != f.DataTypeOID || g.TypeModifier != f.TypeModifier && !kept {
			return fmt.Errorf("column %d is %s of type %d (%d), in Postgres %s of type %d (%d)", i+1, g.Name, g.DataTypeOID,
				g.TypeModifier, f.Name, f.DataTypeOID, f.TypeModifier)
		}
	}
	mine := byKey(st, got)
	reads := slices.ContainsFunc(p.plan.Blocks, (*planner.BlockPlan).Reads)
	for key, rows := range byKey(st, want) {
		if len(mine[key]) < len(rows) {
			return fmt.Errorf("the group %q occurs %d times, in Postgres %d times", key, len(mine[key]), len(rows))
		}
		slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(nulls(a), nulls(b)) }) // NULL can be anything
		for _, row := range rows {
			same := func(m []string) bool { return w.sameCells(st, reads, row, m) == nil }
			i := slices.IndexFunc(mine[key], same)
			if i < 0 {
				err := w.sameCells(st, reads, row, mine[key][0])
				return fmt.Errorf("the group %q: %w\nPostgres %q\ndpproxy  %q", key, err, row, mine[key])
			}
			mine[key] = slices.Delete(mine[key], i, i+1)
		}
	}
	return nothingElse(st, mine)
}

// nothingElse wants of groups that Postgres does not have that nothing is counted in
// them.
func nothingElse(st sqlgen.Statement, mine map[string][][]string) error {
	for key, rows := range mine {
		for _, row := range rows {
			for i, o := range st.Outputs {
				if (o == sqlgen.Count || o == sqlgen.Sum) && number(row[i]) != 0 {
					return fmt.Errorf("the group %q has %q, Postgres does not have it", key, row)
				}
			}
		}
	}
	return nil
}

const null = "\x00NULL"

// byKey returns the rows of each group: rows of several grouping sets can have the same key.
func byKey(st sqlgen.Statement, res *pgconn.Result) map[string][][]string {
	out := map[string][][]string{}
	for _, r := range res.Rows {
		var key, row []string
		for i, c := range r {
			cell := string(c)
			if c == nil {
				cell = null
			}
			row = append(row, cell)
			if st.Outputs[i] == sqlgen.Key {
				cell = canonical(res.FieldDescriptions[i], cell)
				row[i], key = cell, append(key, cell)
			}
		}
		k := strings.Join(key, "|")
		out[k] = append(out[k], row)
	}
	return out
}

func nulls(row []string) (n int) {
	for _, cell := range row {
		if cell == null {
			n++
		}
	}
	return n
}

// canonical writes a key as private keys are shown: a numeric without zeros at its end, a
// character without a length without blanks there.
func canonical(f pgconn.FieldDescription, cell string) string {
	switch {
	case f.DataTypeOID == pgtype.NumericOID && strings.Contains(cell, "."):
		return strings.TrimSuffix(strings.TrimRight(cell, "0"), ".")
	case f.DataTypeOID == pgtype.BPCharOID && cell != null:
		return strings.TrimRight(cell, " ")
	}
	return cell
}

func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return n
}

// sameCells compares one row with Postgres's. A statement that reads nothing is answered as Postgres answers it.
func (w *world) sameCells(st sqlgen.Statement, reads bool, want, got []string) error {
	for i, o := range st.Outputs {
		if !reads && want[i] == got[i] {
			continue
		}
		if err := w.sameCell(o, want[i], got[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (w *world) sameCell(o sqlgen.Output, want, got string) error {
	a, b := number(want), number(got)
	within := func(by float64) error {
		if want != null && math.Abs(a-b) > by {
			return fmt.Errorf("%s is not %s", got, want)
		}
		return nil
	}
	near := func(relative float64) error { return within(relative * max(1, math.Abs(a))) }
	switch o {
	case sqlgen.Key, sqlgen.Count:
		if want != got {
			return fmt.Errorf("%s is not %s", got, want)
		}
	case sqlgen.All, sqlgen.Any: // one row against it is within the error
		if o == sqlgen.All && got == "f" && want != "f" || o == sqlgen.Any && got == "t" && want != "t" || got == null {
			return fmt.Errorf("%s is not %s", got, want)
		}
	case sqlgen.Sum:
		if want == null && b != 0 || got == null {
			return fmt.Errorf("a sum of nothing is %s", got)
		}
		return near(onLattice)
	case sqlgen.Average:
		return near(onLattice)
	case sqlgen.Variance:
		return within(max(ofSquares*max(1, math.Abs(a)), ofProducts(w.widest())))
	case sqlgen.Deviation: // √(a² + e) − a is at most e/a, and √e
		e := ofProducts(w.widest())
		return within(max(ofSquares*max(1, math.Abs(a)), e/max(a, math.Sqrt(e))))
	case sqlgen.Covariance:
		return within(max(ofSquares*max(1, math.Abs(a)), ofProducts(w.widest())))
	case sqlgen.Rank:
	}
	return nil
}

// ofProducts is how far rounding may move a covariance of values that bounds of some width hold. The largest product of distances from the
// middles of the bounds has 2³⁰ units (planner/statistic_product.go), each product is rounded by less than one, and so is their mean,
// which COVAR_SAMP multiplies by N/(N−1), at most two.
func ofProducts(width float64) float64 { return 2 * (width / 2) * (width / 2) / (1 << 30) }

// widest is the width of the widest bounds of numbers.
func (w *world) widest() (width float64) {
	for _, n := range w.cat.Protected() {
		for _, c := range w.cat.Table(n).Columns {
			if b := c.Bounds; b != nil && b.Low != nil {
				of, _ := new(big.Rat).Sub(b.High, b.Low).Float64()
				width = max(width, of)
			}
		}
	}
	return width
}

// onLattice and ofSquares are how far rounding to lattices may move an answer, relative
// to it.
const (
	onLattice = 1e-3
	ofSquares = 1e-2
)
