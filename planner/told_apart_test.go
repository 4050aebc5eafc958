package planner_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dpproxy/fold"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// lookingAlike are values of types, among them equal ones that look different.
var lookingAlike = map[pgtype.Type][]string{
	pgtype.Of(pgtype.Bool): {"t", "f", "true"},
	pgtype.Of(pgtype.Int2): {"1", "-3", "32767", "-32768", "+1"},
	pgtype.Of(pgtype.Int4): {"1", "-3", "2147483647", "-2147483648", "256"},
	pgtype.Of(pgtype.Int8): {"1", "-3", "9223372036854775807", "-9223372036854775808", "256"},
	pgtype.Of(pgtype.Numeric): {
		"0", "-0", "0.00", "1", "1.0", "1.000000", "10", "10000", "1e4", "10000.0", "100000000", "1e-4", "0.00010", "0.0001",
		"1e-5", "-1", "-1.0",
		"NaN",
		"0.10", "0.1", "12345.6789", "12345.67890", "1e300", "1e-300", "9999.9999", "99999999.99999999", "-9999.5", "1234567890.0123456789",
	},
	pgtype.Of(pgtype.Float4): {
		"0", "-0", "NaN", "-NaN", "Infinity", "-Infinity",
		"0.1", "0.10000000149", "1e30", "1e-40",
	},
	pgtype.Of(pgtype.Float8): {
		"0", "-0", "NaN", "-NaN", "Infinity", "-Infinity",
		"0.1", "0.10", "1e300", "5e-324",
	},
	pgtype.Of(pgtype.Text): {
		"a", "A", "a ", "", "\u00e4", "a\u0308", "ab", strings.Repeat("long ",
			100), strings.Repeat("long ", 101),
	},
	pgtype.Of(pgtype.Varchar):                           {"a", "A", "a ", "", "ab"},
	{OID: pgtype.Varchar, Mod: 24, Deterministic: true}: {"a", "A", "a ", "", "ab"},
	pgtype.Of(pgtype.Bpchar):                            {"a", "A", "a ", "a   ", "", " ", "ab", " a"},
	{OID: pgtype.Bpchar, Mod: 10, Deterministic: true}:  {"a", "A", "a ", "a   ", "", " ", "ab", " a"},
	pgtype.Of(pgtype.Date): {
		"2000-01-01", "2000-1-1", "infinity", "-infinity",
		"0001-01-01 BC", "12000-01-01",
	},
	pgtype.Of(pgtype.Timestamp): {
		"2000-01-01", "2000-01-01 00:00:00.000000", "2000-01-01 00:00:00.000001",
		"infinity", "-infinity", "0044-03-15 BC",
	},
	pgtype.Of(pgtype.Timestamptz): {
		"2000-01-01 00:00+00", "2000-01-01 01:00+01", "1999-12-31 19:00-05", "2000-01-01 00:00:00.000001+00", "infinity", "-infinity",
	},
	pgtype.Of(pgtype.Time): {"00:00", "24:00", "12:34:56.7", "12:34:56.700"},
	pgtype.Of(pgtype.Interval): {
		"1 day", "24 hours", "1 mon", "30 days", "720:00:00", "0", "-1 day", "-24 hours", "1 mon -30 days", "1 day -1 us", "-1 us",
		"23:59:59.999999",
		"1 year", "12 mons", "360 days", "2147483647 days", "178000000 years", "-178000000 years",
	},
	pgtype.Of(pgtype.UUID): {
		"00000000-0000-0000-0000-000000000001", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
		"a0eebc999c0b4ef8bb6d6bb9bd380a11",
	},
	{Enum: name("mood"), Mod: -1, Deterministic: true}: {"sad", "ok", "happy"},
}

// TestToldApart holds of each type that a unit, a key or a value can have that package fold takes two values for one where Postgres
// says that they are equal, and nowhere else; and that it puts them in orders by the bytes that the planner writes.
func TestToldApart(t *testing.T) {
	conn := connect(t)
	for of, values := range lookingAlike {
		column := planner.ColumnOf(of)
		if column.Kind == 0 {
			t.Errorf("values of %v are not told apart", of)
			continue
		}
		if of.Decimal() {
			values = append(values, randomNumerics(200)...)
		}
		list := make([]string, len(values))
		for i, v := range values {
			list[i] = fmt.Sprintf("(CAST('%s' AS %s))", v, of.SQL())
		}
		res := conn.ExecParams(t.Context(), "WITH v(x) AS MATERIALIZED (VALUES "+strings.Join(list, ", ")+", (NULL)) SELECT a.x, "+
			scalar.Canonical(of, "a.x")+", b.x, a.x IS NOT DISTINCT FROM b.x FROM v a, v b", nil, nil, nil, []int16{1}).Read()
		if res.Err != nil {
			t.Fatalf("%v: %v", of, res.Err)
		}
		for _, row := range res.Rows {
			a, errA := column.AppendIdentity(nil, row[0])
			b, errB := column.AppendIdentity(nil, row[2])
			if errA != nil || errB != nil {
				t.Fatalf("%v: %x %x: %v, %v", of, row[0], row[2], errA, errB)
			}
			if equal := row[3][0] == 1; bytes.Equal(a, b) != equal {
				t.Errorf("%v: %x and %x are equal for Postgres: %t", of, row[0], row[2], equal)
			}
			if got := column.AppendCanonical(nil, a); column.Kind != fold.Interval && !bytes.Equal(got, row[1]) {
				t.Errorf("%v: %x stands in an order as %x, not %x", of, row[0], got, row[1])
			}
		}
	}
}

// randomNumerics are numbers of many scales, each of which has neighbours that are equal.
func randomNumerics(n int) (out []string) {
	for range n {
		digits := fmt.Sprintf("%d", rand.Int64N(1_000_000_000))
		digits = digits[:1+rand.IntN(len(digits))]
		short := fmt.Sprintf("-%s.%s", digits, digits)
		out = append(out, fmt.Sprintf("%se%d", digits, rand.IntN(24)-12), short+"0", short)
	}
	return out
}
